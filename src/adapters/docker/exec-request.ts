/** Checks a command before anything is started and puts it into the worker's words. Pure. */
import { BOX_HOME } from "../../domain/box.js";
import { ServiceError } from "../../domain/errors.js";
import type { ExecRequest } from "../../ports/box-handle.js";
import { MAX_ENTRIES } from "./exec-outcome.js";
import { toTarget } from "./worker-wire.js";

/** The kernel's limit on one argument or variable, and on all of them together. */
const MAX_ARGUMENT_BYTES = 131_071;
const MAX_ARGUMENTS_BYTES = 2 * 1024 * 1024;
const MIB = 1024 * 1024;
/** The worker stops a command by itself when the service did not, so much later. */
const SECOND_LINE_MS = 1000;

const BASE_ENV: Readonly<Record<string, string>> = {
  HOME: BOX_HOME,
  LANG: "C.UTF-8",
  LOGNAME: "boxuser",
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  USER: "boxuser",
};

/**
 * @param quotaMib what the workspace may hold; 0 = no quota
 * @throws ServiceError `box.validation` naming the limit and the value seen
 */
export function makeExecBody(request: ExecRequest, quotaMib: number): object {
  if (request.argv.length === 0 || request.argv[0] === "") throw refused("The command is empty.");
  const env = { ...BASE_ENV, ...request.env };
  const texts = [...request.argv, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)];
  for (const name of Object.keys(env))
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/u.test(name))
      throw refused(`${JSON.stringify(name)} is not the name of an environment variable.`);
  for (const text of texts) checkText(text);
  const sizeBytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text) + 1, 0);
  if (sizeBytes > MAX_ARGUMENTS_BYTES)
    throw refused(
      `The command and its environment have ${sizeBytes} bytes together; the limit is ${MAX_ARGUMENTS_BYTES}.`,
    );
  const workdir = toTarget(request.workdir);
  if ("fault" in workdir) throw refusedWorkdir(request.workdir, workdir.fault);
  return {
    op: "exec",
    ...workdir,
    argv: request.argv,
    env,
    timeout_ms: request.timeoutMs + SECOND_LINE_MS,
    disk_bytes: quotaMib * MIB,
    disk_entries: MAX_ENTRIES,
  };
}

function checkText(text: string): void {
  if (text.includes("\0")) throw refused("The command or its environment contains a NUL character.");
  if (/\p{Surrogate}/u.test(text)) throw refused("The command or its environment is not valid Unicode.");
  const sizeBytes = Buffer.byteLength(text);
  if (sizeBytes > MAX_ARGUMENT_BYTES)
    throw new ServiceError(
      "box.validation",
      `The command or one of its arguments has ${sizeBytes} bytes; the limit is ${MAX_ARGUMENT_BYTES}.`,
      {
        hint: "Write the long text to a file in the box and run that.",
        details: { limit: MAX_ARGUMENT_BYTES, value: sizeBytes },
      },
    );
}

const WORKDIR_FAULTS: Readonly<Record<string, string>> = {
  escapes: "escapes /workspace",
  symlink_component: "has a link in it",
  not_directory: "has something in it that is no directory",
  no_space: "cannot be made: no space is left in the workspace",
};

/** The error of a command whose working directory cannot be had. */
export function refusedWorkdir(workdir: string, fault: string): ServiceError {
  const why = WORKDIR_FAULTS[fault] ?? `cannot be used (${fault})`;
  return new ServiceError("box.validation", `The working directory ${JSON.stringify(workdir)} ${why}.`, {
    hint: "Choose a directory below /workspace.",
    details: { workdir, fault },
  });
}

function refused(message: string): ServiceError {
  return new ServiceError("box.validation", message);
}
