/** Puts a command into the worker's words. Pure. */
import { planCommand } from "../../domain/command-plan.js";
import { type BoxLimits, MAX_ENTRIES } from "../../domain/exec-outcome.js";
import type { ExecRequest } from "../../ports/box-handle.js";

/** The kernel's limit on all arguments and variables together. */
const MAX_ARGUMENTS_BYTES = 2 * 1024 * 1024;
const MIB = 1024 * 1024;
/** The worker stops a command by itself when the service did not, so much later. */
const SECOND_LINE_MS = 1000;

/**
 * @param limits what the workspace may hold: `quotaMib` 0 = nobody watches it
 * @throws ServiceError `box.validation` naming the limit and the value seen
 */
export function makeExecBody(request: ExecRequest, limits: Pick<BoxLimits, "quotaMib" | "entries">): object {
  return {
    op: "exec",
    ...planCommand(request, MAX_ARGUMENTS_BYTES),
    timeout_ms: request.timeoutMs + SECOND_LINE_MS,
    disk_bytes: limits.quotaMib * MIB,
    disk_entries: limits.entries ?? MAX_ENTRIES,
  };
}
