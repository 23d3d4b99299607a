/** Child processes: shown to the user, or watched quietly with the end of their output kept for the error. */
import { spawn } from "node:child_process";
import { constants } from "node:os";
import { Failure, messageOf } from "./failure.mjs";

const TAIL_LINES = 30;
// npm does not end by itself while a package is being compiled.
const PATIENCE_MS = 5000;

/**
 * Keeps the last lines of a stream of text.
 * @param {(line: string) => void} [onLine]
 */
export function lineTail(onLine) {
  /** @type {string[]} */
  const lines = [];
  let rest = "";
  return {
    /** @param {string} text */
    add(text) {
      const parts = (rest + text).split(/\r?\n|\r/);
      rest = (parts.pop() ?? "").slice(-4000);
      for (const line of parts.filter((part) => part.trim() !== "")) {
        lines.push(line);
        if (lines.length > TAIL_LINES) lines.shift();
        onLine?.(line);
      }
    },
    text: () => [...lines, rest].join("\n").trim(),
  };
}

/**
 * Runs a command on the user's own terminal and gives its exit code. A signal to this process ends the command first,
 * and then this process too.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ env?: NodeJS.ProcessEnv }} [options]
 * @returns {Promise<number>}
 */
export async function runShown(command, args, options = {}) {
  const child = spawn(command, args, { stdio: "inherit", ...options });
  /** @type {NodeJS.Signals[]} */
  const received = [];
  /** @type {NodeJS.Timeout | undefined} */
  let impatience;
  const passOn = (/** @type {NodeJS.Signals} */ signal) => {
    received.push(signal);
    // Ctrl-C reaches the command from the terminal itself.
    if (signal === "SIGTERM" || !process.stdin.isTTY) child.kill(signal);
    impatience ??= setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS);
  };
  process.on("SIGINT", passOn).on("SIGTERM", passOn);
  try {
    const exitCode = await exitCodeOf(child, command);
    const [signal] = received;
    if (signal === undefined) return exitCode;
    throw new Failure(`Stopped by ${signal}.`, { exitCode: 128 + constants.signals[signal] });
  } finally {
    clearTimeout(impatience);
    process.off("SIGINT", passOn).off("SIGTERM", passOn);
  }
}

/**
 * @param {import("node:child_process").ChildProcess} child
 * @param {string} command
 * @returns {Promise<number>} as a shell counts: 128 and the number of the signal that ended it
 */
export function exitCodeOf(child, command) {
  return new Promise((resolve, reject) => {
    child.once("error", (error) => reject(new Failure(`${command} cannot be started: ${error.message}`)));
    child.once("exit", (code, signal) =>
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])),
    );
  });
}

/**
 * Runs a command whose output only matters when it fails.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ env?: NodeJS.ProcessEnv, report?: (line: string) => void, hint?: string }} [options]
 * @returns {Promise<string>} the end of its output
 */
export function runQuiet(command, args, { env = process.env, report, hint = "" } = {}) {
  return new Promise((resolve, reject) => {
    const tail = lineTail(report);
    const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"], env });
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (/** @type {string} */ text) => tail.add(text));
    }
    child.once("error", (error) =>
      reject(new Failure(`${command} cannot be started: ${messageOf(error)}`, { hint })),
    );
    child.once("close", (code, signal) => {
      if (code === 0) resolve(tail.text());
      else
        reject(
          new Failure(`${tail.text()}\n\n${command} ${args[0] ?? ""} failed (${signal ?? code}).`, { hint }),
        );
    });
  });
}
