/** What a proof needs of the machine that the engine runs on. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";

/** Processes whose command line holds the word, in boxes or not; cheap, so that it can be asked often. */
export function countCommandLines(word: string): number {
  let found = 0;
  for (const name of readdirSync("/proc"))
    if (/^\d+$/.test(name) && readCommandLine(name).includes(word)) found += 1;
  return found;
}

function readCommandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    // It has ended meanwhile.
    return "";
  }
}

/** So many processes that want a processor, until disposed. */
export class Load implements AsyncDisposable {
  readonly #burners: readonly ChildProcess[];

  constructor(count: number) {
    this.#burners = Array.from({ length: count }, () =>
      spawn("sh", ["-c", "while :; do :; done"], { stdio: "ignore" }),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const burner of this.#burners) {
      const gone = once(burner, "exit");
      burner.kill("SIGKILL");
      await gone;
    }
  }
}
