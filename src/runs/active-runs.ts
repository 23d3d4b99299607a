/** Runs that execute in this process, and the one way to stop each of them (runs §14.1, §19). */
import { setMaxListeners } from "node:events";
import { ServiceError } from "../domain/errors.js";
import type { RunId } from "../domain/ids.js";

/** Registration of one run; disposing it unregisters the run, stops its clock and whatever still works for it. */
export interface ActiveRun extends Disposable {
  readonly signal: AbortSignal;
}

export class ActiveRuns {
  readonly #controllers = new Map<RunId, AbortController>();
  /** Runs that pull messages while they go on. */
  readonly #steerable = new Set<RunId>();

  /** @param deadlineMs after so long the signal aborts with `runner.timeout` */
  register(runId: RunId, deadlineMs: number): ActiveRun {
    if (this.#controllers.has(runId)) throw new ServiceError("internal", "This run is active already.");
    const controller = new AbortController();
    // Every host call of the run listens while it lasts.
    setMaxListeners(0, controller.signal);
    this.#controllers.set(runId, controller);
    const timer = setTimeout(() => controller.abort(deadlinePassed(deadlineMs)), deadlineMs);
    return {
      signal: controller.signal,
      [Symbol.dispose]: () => {
        clearTimeout(timer);
        this.#controllers.delete(runId);
        this.#steerable.delete(runId);
        controller.abort(new ServiceError("host.not_found", "Run session not found: the run has ended."));
      },
    };
  }

  /** The run declared steering and its pull API (runs §14.2). */
  openToSteering(runId: RunId): void {
    if (this.has(runId)) this.#steerable.add(runId);
  }

  canSteer(runId: RunId): boolean {
    return this.#steerable.has(runId);
  }

  has(runId: RunId): boolean {
    return this.#controllers.has(runId);
  }

  get size(): number {
    return this.#controllers.size;
  }

  /** @returns false when the run is not active */
  stop(runId: RunId, reason: ServiceError): boolean {
    const controller = this.#controllers.get(runId);
    controller?.abort(reason);
    return controller !== undefined;
  }

  stopAll(reason: ServiceError): void {
    for (const controller of this.#controllers.values()) controller.abort(reason);
  }
}

function deadlinePassed(deadlineMs: number): ServiceError {
  return new ServiceError("runner.timeout", `The run passed its deadline of ${deadlineMs / 1000} s.`, {
    hint: "Ask for less at once, or raise runs.deadline_sec.",
  });
}
