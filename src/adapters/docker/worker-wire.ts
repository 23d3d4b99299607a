/** What the worker is asked and what it answers, as JSON inside frames. Answers are untrusted: bounded and parsed here. */
import { z } from "zod";
import { FILE_FAULTS, type FileEntry, PATH_FAULTS } from "../../domain/box.js";
import type { BoxCounters, CommandExit } from "../../domain/exec-outcome.js";
import { brokenFrame, type WorkerFrame } from "./frame-codec.js";

export const fileFaultSchema = z.enum(FILE_FAULTS);
export const pathFaultSchema = z.enum(PATH_FAULTS);

const entrySchema = z.object({
  kind: z.enum(["file", "directory", "link", "other"]),
  size: z.int().nonnegative(),
  links: z.int().nonnegative(),
  mode: z.int().min(0).max(0o7777),
  modified: z.int(),
  version: z.string().max(200),
  readable: z.boolean(),
});
type WireEntry = z.infer<typeof entrySchema>;

/** Neither a separator, nor NUL, nor a step that leads elsewhere. */
const nameSchema = z
  .string()
  .min(1)
  .max(1024)
  .refine((name) => !/[/\0]/u.test(name) && name !== "." && name !== "..");

export const listedSchema = z.array(entrySchema.extend({ names: z.array(nameSchema).min(1).max(256) }));
export const listEndSchema = z.object({ truncated: z.boolean() });

const countersSchema = z.object({ oom_kills: z.int().min(-1), pids_refused: z.int().min(-1) });
type WireCounters = z.infer<typeof countersSchema>;

export const startedSchema = countersSchema.transform(toCounters);

export const exitSchema = countersSchema
  .extend({
    code: z.int().min(0).max(255).nullable(),
    signal: z.int().min(1).max(64).nullable(),
    by: z.enum(["exit", "kill", "timeout", "quota"]),
    disk: z.tuple([z.int().nonnegative(), z.int().nonnegative()]).nullable(),
    leftovers: z.int().nonnegative(),
  })
  .transform(
    ({ code, signal, by, disk, leftovers, ...counters }): CommandExit => ({
      code,
      signal,
      by,
      disk: by === "quota" && disk !== null ? { sizeBytes: disk[0], entries: disk[1] } : null,
      leftovers,
      ...toCounters(counters),
    }),
  );

export const sweepSchema = countersSchema
  .extend({ left: z.int().nonnegative() })
  .transform(({ left, ...counters }) => ({ left, ...toCounters(counters) }));

function toCounters({ oom_kills, pids_refused }: WireCounters): BoxCounters {
  return { oomKills: oom_kills, pidsRefused: pids_refused };
}

/** @throws ServiceError when the payload is not what the schema says */
export function readPayload<Schema extends z.ZodType>(schema: Schema, frame: WorkerFrame): z.output<Schema> {
  const parsed = schema.safeParse(parseJson(frame.payload));
  if (parsed.success) return parsed.data;
  throw brokenFrame(`The box sent a payload that does not fit frame type ${frame.type}.`);
}

function parseJson(payload: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(payload).toString("utf8"));
  } catch {
    return undefined;
  }
}

/** The path is ours, the rest is what the box says. */
export function toFileEntry(path: string, wire: WireEntry): FileEntry {
  return {
    path,
    kind: wire.kind,
    sizeBytes: wire.size,
    linkCount: wire.links,
    mode: wire.mode,
    modifiedMs: wire.modified,
    version: wire.version,
    readable: wire.readable,
  };
}

export function readEntry(path: string, frame: WorkerFrame): FileEntry {
  return toFileEntry(path, readPayload(entrySchema, frame));
}
