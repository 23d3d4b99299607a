/** Keeps at most one process for a package: started at first use, again after it ended, later and later while it fails. */
import { delay } from "../../lib/delay.js";
import { linkSignals } from "../../lib/link-signals.js";
import { SingleFlight } from "../../lib/single-flight.js";
import type { CallOptions } from "../../ports/options.js";
import { type PackageProcess, type ProcessDeps, startProcess } from "./package-process.js";
import type { InstalledPackage } from "./scan-packages.js";

const FIRST_DELAY_MS = 250;
const MAX_DELAY_MS = 30_000;

/** The first failure costs no wait: the runner is back for the next run. */
export function restartDelayMs(failures: number): number {
  if (failures < 2) return 0;
  return Math.min(FIRST_DELAY_MS * 2 ** Math.min(failures - 2, 20), MAX_DELAY_MS);
}

export interface SupervisorDeps extends ProcessDeps {
  /** A process was started in place of one that had ended. */
  readonly onRestart: () => void;
}

export class PackageSupervisor implements AsyncDisposable {
  readonly installed: InstalledPackage;
  readonly #deps: SupervisorDeps;
  readonly #starts = new SingleFlight<"start", PackageProcess>();
  readonly #life = new AbortController();
  #current: PackageProcess | null = null;
  #hasStarted = false;
  #failures = 0;
  #failedAt = 0;

  constructor(deps: SupervisorDeps, installed: InstalledPackage) {
    this.#deps = deps;
    this.installed = installed;
  }

  /** @throws ServiceError `runner.error` when no process comes up, and the signal's reason */
  async acquire(options: CallOptions): Promise<PackageProcess> {
    options.signal.throwIfAborted();
    const current = this.#current;
    if (current?.isAlive === true) return current;
    return this.#starts.run("start", (signal) => this.#start({ signal }), options);
  }

  /** Work has ended, however: a process that outlived it is sound, so the next failure is a first one. */
  noteWork(): void {
    if (this.#current?.isAlive === true) this.#failures = 0;
  }

  /** Lets its process finish what it is at. */
  async retire(options: CallOptions): Promise<void> {
    try {
      await this.#current?.retire(options);
    } finally {
      await this[Symbol.asyncDispose]();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#life.abort();
    await this.#current?.stop();
  }

  async #start({ signal }: CallOptions): Promise<PackageProcess> {
    using linked = linkSignals(signal, this.#life.signal);
    const waitMs = this.#failedAt + restartDelayMs(this.#failures) - this.#deps.clock.elapsed();
    if (this.#failures > 0 && waitMs > 0) await delay(waitMs, linked);
    try {
      const process = await startProcess(this.#deps, this.installed, linked);
      this.#current = process;
      void this.#follow(process);
    } catch (error) {
      if (!linked.signal.aborted) this.#fail();
      throw error;
    }
    if (this.#hasStarted) this.#deps.onRestart();
    this.#hasStarted = true;
    return this.#current;
  }

  async #follow(process: PackageProcess): Promise<void> {
    if ((await process.gone()) !== "stopped") this.#fail();
  }

  #fail(): void {
    this.#failures += 1;
    this.#failedAt = this.#deps.clock.elapsed();
  }
}
