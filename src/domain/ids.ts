/** Public ids: opaque, unguessable, prefixed (api §1.2). Made by the IdSource port, never here. */
import { z } from "zod";

export const ID_PREFIXES = ["run", "ses", "file", "job", "term", "evt", "req"] as const;
export type IdPrefix = (typeof ID_PREFIXES)[number];

/** An id as text: the prefix keeps ids of different things apart at compile time. */
export type Id<Prefix extends IdPrefix> = `${Prefix}_${string}`;
export type RunId = Id<"run">;
export type SessionId = Id<"ses">;
export type FileId = Id<"file">;

export const runIdSchema = z.templateLiteral(["run_", z.string().min(1)]);
export const sessionIdSchema = z.templateLiteral(["ses_", z.string().min(1)]);
export const fileIdSchema = z.templateLiteral(["file_", z.string().min(1)]);

/** The tenant of a service that serves one: without a key, and with the key of BERTH_API_KEY (api §1.3, §8). */
export const MAIN_TENANT = "main";
