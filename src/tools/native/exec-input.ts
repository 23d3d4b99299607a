/** Rules for what `exec` is given: command, environment, time limit (box §10.2, §12.1). */
import type { BoxSettings } from "../../domain/box.js";

/** What the kernel takes as one argument of a program. */
export const MAX_COMMAND_BYTES = 131_071;
const MAX_VARIABLES = 100;
const MAX_VALUE_BYTES = 32 * 1024;
/** The service's own names. */
const RESERVED_PREFIX = "BERTH_";

export interface TimeoutChoice {
  readonly seconds: number;
  /** What was asked for where the maximum replaced it. */
  readonly refusedSeconds: number | null;
  readonly maxSeconds: number;
}

/** @returns one sentence, or null for a command that can be run */
export function findCommandFault(command: string): string | null {
  if (command.trim() === "") return "Invalid input for exec: command: must not be empty.";
  if (command.includes("\0")) return "Invalid input for exec: command: must not contain NUL.";
  const sizeBytes = Buffer.byteLength(command);
  if (sizeBytes <= MAX_COMMAND_BYTES) return null;
  return `Invalid input for exec: command: ${sizeBytes} bytes, at most ${MAX_COMMAND_BYTES} are possible. Write it to a file and run that.`;
}

/** @returns one sentence about the first variable at fault, or null */
export function findEnvFault(env: Readonly<Record<string, string>>): string | null {
  const variables = Object.entries(env);
  if (variables.length > MAX_VARIABLES)
    return `Invalid input for exec: env: ${variables.length} variables, at most ${MAX_VARIABLES} are possible.`;
  for (const [name, value] of variables) {
    const fault = findVariableFault(name, value);
    if (fault !== null) return `Invalid input for exec: env: ${JSON.stringify(name.slice(0, 100))} ${fault}.`;
  }
  return null;
}

function findVariableFault(name: string, value: string): string | null {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
    return "is not a variable name (letters, digits and _, no digit first)";
  if (name.startsWith(RESERVED_PREFIX))
    return `is reserved: names that begin with ${RESERVED_PREFIX} are set by the service`;
  if (value.includes("\0")) return "has a value with NUL";
  const sizeBytes = Buffer.byteLength(value);
  return sizeBytes > MAX_VALUE_BYTES
    ? `has a value of ${sizeBytes} bytes, at most ${MAX_VALUE_BYTES} are possible`
    : null;
}

/** The time limit in force: what is not positive becomes the box's default, what is above its maximum the maximum. */
export function resolveTimeout(
  askedSeconds: number | undefined,
  settings: Pick<BoxSettings, "execTimeoutSec" | "execMaxTimeoutSec">,
): TimeoutChoice {
  const maxSeconds = settings.execMaxTimeoutSec;
  const asked = askedSeconds !== undefined && askedSeconds > 0 ? askedSeconds : settings.execTimeoutSec;
  const seconds = Math.min(asked, maxSeconds);
  return { seconds, refusedSeconds: asked > maxSeconds ? asked : null, maxSeconds };
}
