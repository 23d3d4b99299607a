/** How a script ends: one clear message, the next step, and an exit code that a caller can act on. */

/** Exit codes of sysexits.h that the scripts use. */
export const EXIT = { usage: 64, unavailable: 69, software: 70 };

export class Failure extends Error {
  /** @override */
  name = "Failure";

  /**
   * @param {string} message
   * @param {{ hint?: string, exitCode?: number, cause?: unknown }} [options]
   */
  constructor(message, { hint = "", exitCode = 1, cause } = {}) {
    super(message, { cause });
    this.hint = hint;
    this.exitCode = exitCode;
  }
}

/** @param {unknown} error */
export function messageOf(error) {
  if (!(error instanceof Error)) return String(error);
  return error.message || ("code" in error ? String(error.code) : error.name);
}

/**
 * Runs a script's main function and turns its end into output and exit code.
 * @param {() => Promise<number | void>} main gives the exit code, 0 when it says nothing
 */
export async function runMain(main) {
  try {
    process.exitCode = (await main()) ?? 0;
  } catch (error) {
    if (error instanceof Failure) {
      process.stderr.write(`\n${error.message}\n${error.hint === "" ? "" : `${error.hint}\n`}`);
      process.exitCode = error.exitCode;
    } else {
      process.stderr.write(`\n${error instanceof Error ? error.stack : String(error)}\n`);
      process.exitCode = EXIT.software;
    }
  }
}
