/** Why the process of a package has ended, and what its runs are told (runs §23). */
import { type ErrorCode, ServiceError } from "../../domain/errors.js";

export type ProcessEnd =
  | { readonly kind: "exited"; readonly exitCode: number | null; readonly signal: string | null }
  | { readonly kind: "not_started" }
  | { readonly kind: "hung"; readonly limitMs: number }
  | { readonly kind: "memory"; readonly limitMb: number }
  | { readonly kind: "protocol"; readonly cause: unknown }
  /** The service stops, or the package was changed or removed. */
  | { readonly kind: "stopped" };

/** @param output what the process wrote last, for the log */
export function endError(packageId: string, end: ProcessEnd, output: string): ServiceError {
  const { code, says, hint } = describeEnd(end);
  const said = output === "" ? undefined : new Error(output);
  const cause = end.kind === "protocol" ? end.cause : said;
  return new ServiceError(code, `The process of the package ${packageId} ${says}.`, { hint, cause });
}

function describeEnd(end: ProcessEnd): {
  readonly code: ErrorCode;
  readonly says: string;
  readonly hint?: string;
} {
  switch (end.kind) {
    case "exited":
      return { code: "runner.error", says: `ended by itself (${describeExit(end)})` };
    case "not_started":
      return { code: "runner.error", says: "could not be started", hint: "The log says what it wrote." };
    case "hung":
      return { code: "runner.timeout", says: `did not react for ${end.limitMs / 1000} s and was ended` };
    case "memory":
      return {
        code: "runner.error",
        says: `went above its memory limit of ${end.limitMb} MiB`,
        hint: "Ask for less at once, or raise the package's memory_mb.",
      };
    case "protocol":
      return { code: "runner.protocol", says: "wrote something that is not of the protocol" };
    default:
      return { code: "service.stopping", says: "was stopped" };
  }
}

function describeExit({ exitCode, signal }: Extract<ProcessEnd, { kind: "exited" }>): string {
  return signal === null ? `exit code ${exitCode}` : `signal ${signal}`;
}

/** The engine ends a process whose heap is full by itself; only its last words tell. */
export function judgeExit(
  exit: { readonly exitCode: number | null; readonly signal: string | null },
  output: string,
  limitMb: number,
): ProcessEnd {
  return /heap out of memory|allocation failed/i.test(output)
    ? { kind: "memory", limitMb }
    : { kind: "exited", ...exit };
}
