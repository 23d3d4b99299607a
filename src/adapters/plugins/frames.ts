/**
 * What goes over the channel between the service and a package's process: one JSON object on a line.
 * What comes from the process is not to be believed: every field is checked, and sizes are bounded by the line.
 */
import { z } from "zod";
import type { HostError } from "../../domain/host-error.js";
import type { RunnerResult } from "../../domain/result.js";
import type { RunContext } from "../../domain/run-context.js";
import type { PluginEvent } from "../../ports/plugin-packages.js";

/** Bytes of one line, either way. */
export const MAX_LINE_BYTES = 8 * 1024 * 1024;

const id = z.int().positive();
const runId = z.string().min(1).max(200);
/** The host normalises every result of every runner; nothing of it is read here (runs §18). */
const uncheckedResult = z.custom<RunnerResult>(() => true);
/** For the operator's log. */
const report = z.string().max(100_000);

export const childFrameSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("ready") }),
  z.object({ type: z.literal("alive") }),
  z.object({ type: z.literal("result"), run_id: runId, result: uncheckedResult }),
  z.object({ type: z.literal("ended"), run_id: runId }),
  z.object({ type: z.literal("failed"), run_id: runId, error: report }),
  /** A host call (runs §15.5). `caller` is what it says of itself, if anything (runs §15.4). */
  z.object({
    type: z.literal("call"),
    id,
    run_id: z.unknown().optional(),
    caller: z.unknown().optional(),
    action: z.string().max(200),
    payload: z.unknown(),
  }),
  /** It no longer waits for the answer to its call. */
  z.object({ type: z.literal("leave"), id }),
  z.object({ type: z.literal("answer"), id, value: z.unknown() }),
  /** `said` is what a model may read of a failed tool. */
  z.object({ type: z.literal("no_answer"), id, error: report, said: z.string().max(10_000) }),
]);
export type ChildFrame = z.infer<typeof childFrameSchema>;

export type HostFrame =
  | {
      readonly type: "run";
      readonly run_id: string;
      readonly runner: string;
      readonly context: RunContext;
      readonly credit: number;
    }
  /** So many results more may be on their way. */
  | { readonly type: "more"; readonly run_id: string; readonly count: number }
  | { readonly type: "cancel"; readonly run_id: string; readonly reason: string }
  /** Nobody reads the results of that run. */
  | { readonly type: "forget"; readonly run_id: string }
  | {
      readonly type: "tool";
      readonly id: number;
      readonly name: string;
      readonly parameters: Readonly<Record<string, unknown>>;
    }
  | { readonly type: "event"; readonly id: number; readonly event: PluginEvent }
  /** Nobody waits for that answer. */
  | { readonly type: "drop"; readonly id: number }
  | { readonly type: "value" | "item"; readonly id: number; readonly value: unknown }
  | { readonly type: "end"; readonly id: number }
  | { readonly type: "failure"; readonly id: number; readonly error: HostError };
