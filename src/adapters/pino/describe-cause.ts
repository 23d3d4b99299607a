/** An error as fields of a log line: what it is called, what it says in one line, and what caused it. */
import { ServiceError } from "../../domain/errors.js";
import type { SecretMask } from "../../lib/secret-mask.js";
import { scrubText } from "./scrub-text.js";

/** Causes and members that are followed. */
const MAX_DEPTH = 4;
const MAX_FRAMES = 12;

export interface CauseLine {
  readonly name: string;
  readonly code?: string | undefined;
  readonly message: string;
  /** Frames of the stack, for errors that are not ours: they name places in the program. */
  readonly stack?: readonly string[] | undefined;
  readonly causes?: readonly CauseLine[] | undefined;
}

/** Takes nothing else from an error: requests, responses and their headers hang on errors of drivers (style §6). */
export function describeCause(thrown: unknown, mask: SecretMask, depth = 0): CauseLine {
  if (!(thrown instanceof Error)) return { name: typeof thrown, message: scrubText(textOf(thrown), mask) };
  const causes = depth < MAX_DEPTH ? causesOf(thrown) : [];
  return {
    name: thrown.name,
    code: codeOf(thrown),
    message: scrubText(thrown.message, mask),
    ...(thrown instanceof ServiceError ? {} : { stack: framesOf(thrown, mask) }),
    ...(causes.length === 0 ? {} : { causes: causes.map((cause) => describeCause(cause, mask, depth + 1)) }),
  };
}

/** Thrown values that are no errors: text and numbers are said, of anything else only that it was thrown. */
function textOf(thrown: unknown): string {
  return typeof thrown === "string" || typeof thrown === "number" ? String(thrown) : "";
}

function causesOf(error: Error): readonly unknown[] {
  const members: readonly unknown[] = error instanceof AggregateError ? error.errors.slice(0, MAX_DEPTH) : [];
  return error.cause === undefined ? members : [error.cause, ...members];
}

function codeOf(error: Error): string | undefined {
  return "code" in error && typeof error.code === "string" ? error.code : undefined;
}

function framesOf(error: Error, mask: SecretMask): readonly string[] {
  const lines = error.stack?.split("\n") ?? [];
  return lines
    .filter((line) => /^\s+at /.test(line))
    .slice(0, MAX_FRAMES)
    .map((line) => scrubText(line.trim(), mask));
}
