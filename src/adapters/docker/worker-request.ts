/** One file request to a worker in the box, with a limit on how long the box may do nothing. */
import { ServiceError } from "../../domain/errors.js";
import { StallGuard } from "../../lib/stall-guard.js";
import type { CallOptions } from "../../ports/options.js";
import { FROM_WORKER, type ToWorkerType, type WorkerFrame } from "./frame-codec.js";
import type { WorkerLink } from "./worker-link.js";
import type { WorkerKind } from "./worker-script.js";

/** Starts a worker and hands it the request. */
export type OpenWorker = (kind: WorkerKind, body: object, options: CallOptions) => Promise<WorkerLink>;

const STALL_MS = 30_000;

export class WorkerRequest implements Disposable {
  readonly #link: WorkerLink;
  readonly #signal: AbortSignal;
  readonly #guard: StallGuard;
  #isWaiting = false;
  #isPaused = false;

  constructor(link: WorkerLink, options: CallOptions) {
    this.#link = link;
    this.#signal = options.signal;
    this.#guard = new StallGuard(() => link[Symbol.dispose](), STALL_MS, options);
  }

  static async open(open: OpenWorker, body: object, options: CallOptions): Promise<WorkerRequest> {
    return new WorkerRequest(await open("files", body, options), options);
  }

  /**
   * @returns null when the worker said that it is done
   * @throws ServiceError `box.engine_unavailable` when its stream ended without that; the abort's reason after an abort
   */
  async next(): Promise<WorkerFrame | null> {
    try {
      this.#isWaiting = true;
      this.#update();
      const frame = await this.#link.next();
      if (frame === null) throw this.lost(null);
      return frame.type === FROM_WORKER.done ? null : frame;
    } catch (error) {
      this.#signal.throwIfAborted();
      throw error instanceof ServiceError ? error : this.lost(error);
    } finally {
      this.#isWaiting = false;
      this.#update();
    }
  }

  async send(type: ToWorkerType, index: number, payload?: Uint8Array): Promise<void> {
    try {
      await this.#link.send(type, index, payload);
      this.#update();
    } catch (error) {
      this.#signal.throwIfAborted();
      throw this.lost(error);
    }
  }

  /** It is the service that keeps the box waiting, until `resume`. */
  pause(): void {
    this.#isPaused = true;
    this.#update();
  }

  resume(): void {
    this.#isPaused = false;
    this.#update();
  }

  /** The error of a request whose outcome cannot be known. */
  lost(cause: unknown): ServiceError {
    const why = this.#guard.hasStalled
      ? `did not answer a file request within ${STALL_MS / 1000} s`
      : "ended a file request without an answer";
    return new ServiceError("box.engine_unavailable", `The box ${why}.`, {
      hint: "The outcome is unknown: look at the files in the box before trying again.",
      cause,
    });
  }

  #update(): void {
    if (this.#isWaiting && !this.#isPaused) this.#guard.arm();
    else this.#guard.rest();
  }

  [Symbol.dispose](): void {
    this.#guard[Symbol.dispose]();
    this.#link[Symbol.dispose]();
  }
}
