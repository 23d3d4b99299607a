/** Checks a command before anything is started: what no kernel takes, and where it may run (box §12.1). Pure. */
import { BOX_HOME } from "./box.js";
import { ServiceError } from "./errors.js";
import { toTarget } from "./workspace-target.js";

/** The kernel's limit on one argument or variable. */
const MAX_ARGUMENT_BYTES = 131_071;

const BASE_ENV: Readonly<Record<string, string>> = {
  HOME: BOX_HOME,
  LANG: "C.UTF-8",
  LOGNAME: "boxuser",
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  USER: "boxuser",
};

export interface CommandInput {
  readonly argv: readonly string[];
  readonly workdir: string;
  readonly env: Readonly<Record<string, string>>;
}

export interface CommandPlan {
  readonly argv: readonly string[];
  /** The environment of every command, then the command's own. */
  readonly env: Readonly<Record<string, string>>;
  /** Names of the working directory, from /workspace downwards. */
  readonly parts: readonly string[];
}

/**
 * @param maxBytes what all arguments and variables may have together
 * @throws ServiceError `box.validation` naming the limit and the value seen
 */
export function planCommand({ argv, workdir, env: own }: CommandInput, maxBytes: number): CommandPlan {
  if (argv.length === 0 || argv[0] === "") throw refused("The command is empty.");
  const env = { ...BASE_ENV, ...own };
  const texts = [...argv, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)];
  for (const name of Object.keys(env))
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/u.test(name))
      throw refused(`${JSON.stringify(name)} is not the name of an environment variable.`);
  for (const text of texts) checkText(text);
  const sizeBytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text) + 1, 0);
  if (sizeBytes > maxBytes)
    throw refused(
      `The command and its environment have ${sizeBytes} bytes together; the limit is ${maxBytes}.`,
    );
  const target = toTarget(workdir);
  if ("fault" in target) throw refusedWorkdir(workdir, target.fault);
  return { argv, env, parts: target.parts };
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
