/** One job: what it was told, how it is, what it said (box §14.1). */
import { type JobInfo, STDERR_PREVIEW_CHARS } from "../domain/job.js";
import { prefixWithin } from "../lib/code-points.js";
import { OutputWindow } from "../lib/output-window.js";
import type { SecretMask } from "../lib/secret-mask.js";
import type { BoxProcess } from "../ports/box-handle.js";
import type { JobOutput } from "../ports/box-jobs.js";
import type { Clock } from "../ports/clock.js";
import { ManagedProcess } from "./managed-process.js";
import { maskEvents } from "./mask-events.js";

const SHOWN_COMMAND_CHARS = 200;
/** UTF-8 has at most so many bytes for a character. */
const BYTES_PER_CHAR = 4;

export interface JobDeps {
  readonly id: string;
  readonly command: string;
  readonly process: BoxProcess;
  readonly lease: AsyncDisposable;
  readonly clock: Clock;
  /** Takes secrets out of what is kept and shown. */
  readonly mask: SecretMask;
}

export class Job {
  readonly id: string;
  readonly process: ManagedProcess;
  readonly #command: string;
  readonly #startedAt: number;
  readonly #stderr = new OutputWindow({
    chars: STDERR_PREVIEW_CHARS,
    bytes: STDERR_PREVIEW_CHARS * BYTES_PER_CHAR,
  });
  #taken = 0;

  constructor({ id, command, process, lease, clock, mask }: JobDeps) {
    this.id = id;
    this.#command = prefixWithin(mask.text(command), { chars: SHOWN_COMMAND_CHARS, bytes: Infinity });
    this.#startedAt = clock.now();
    this.process = ManagedProcess.manage({
      process,
      events: maskEvents(process.events, mask),
      lease,
      clock,
      onOutput: ({ stream, bytes }) => {
        if (stream === "stderr") this.#stderr.push(bytes);
      },
    });
    void this.process.closed.then(() => this.#stderr.end());
  }

  get info(): JobInfo {
    const { exit, endedAt, output } = this.process;
    return {
      id: this.id,
      status: exit === null ? "running" : "exited",
      exit_code: exit?.exitCode ?? null,
      command: this.#command,
      started_at: new Date(this.#startedAt).toISOString(),
      ended_at: endedAt === null ? null : new Date(endedAt.now).toISOString(),
      stderr_preview: this.#stderr.finish(({ chars }) => `\n[... ${chars} characters left out ...]\n`).text,
      output_bytes: output.end,
      notes: [...(exit?.notes ?? [])],
    };
  }

  /** Where `take` goes on. */
  get taken(): number {
    return this.#taken;
  }

  /** What came since the last time. */
  take(): JobOutput {
    const output = this.process.output.read(this.#taken, Infinity);
    this.#taken = output.next;
    return output;
  }
}
