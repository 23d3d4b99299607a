/** Ends everything that the box user runs: by a sweep from inside, or by starting the box anew (box §6.2). */
import { ServiceError } from "../../domain/errors.js";
import type { BoxCounters } from "../../domain/exec-outcome.js";
import { delay } from "../../lib/delay.js";
import { StallGuard } from "../../lib/stall-guard.js";
import type { Clearing } from "../../ports/box-helper.js";
import type { Logger } from "../../ports/logger.js";
import type { CallOptions } from "../../ports/options.js";
import { type ContainerLife, unhurried } from "./container-life.js";
import { isUnanswered } from "./engine-errors.js";
import { FROM_WORKER } from "./frame-codec.js";
import type { WorkerLink } from "./worker-link.js";
import { readPayload, sweepSchema } from "./worker-wire.js";

const SWEEP_MS = 3000;
/** A sweep that says nothing for so long has been stopped, or never came in. */
const SWEEP_ANSWER_MS = SWEEP_MS + 1000;
/** A container that is being stopped has ended after so long. */
const SETTLING_MS = 1500;
const SETTLING_LOOKS = 5;

export interface BoxClearingDeps {
  readonly life: ContainerLife;
  readonly logger: Logger;
  readonly container: string;
  /** Whether something in the box has stopped what the engine started there. Never rejects. */
  readonly isStopped: () => Promise<boolean>;
  /** Starts a worker as the box user. */
  readonly startSweep: (body: object, options: CallOptions) => Promise<WorkerLink>;
}

export class BoxClearing {
  readonly #deps: BoxClearingDeps;
  #current: Promise<Clearing | null> | null = null;
  /**
   * Whether the engine did not get a process into the box: something in there may have stopped it on its way in. Some
   * engines answer nothing about such a container any more, but still kill it when nothing else was asked of them before.
   */
  #isWedged = false;

  constructor(deps: BoxClearingDeps) {
    this.#deps = deps;
  }

  /** Takes note of why nothing could be started in the box. @returns the error */
  noted(error: unknown): unknown {
    this.#isWedged ||= isUnanswered(error);
    return error;
  }

  /** One at a time. @returns null when the box has ended by itself, and its processes with it */
  async clear(): Promise<Clearing | null> {
    this.#current ??= this.#clear().finally(() => {
      this.#current = null;
    });
    return this.#current;
  }

  /** @returns null when it has ended by itself, or is gone or going */
  async restart(): Promise<Clearing | null> {
    return this.#isWedged || (await this.#deps.life.goesOn()) ? this.#restart() : null;
  }

  async #clear(): Promise<Clearing | null> {
    if (!this.#isWedged) {
      const isStopped = await this.#deps.isStopped();
      if (!(await this.#deps.life.goesOn())) return null;
      // Whoever has stopped the helper would stop the sweep too.
      const swept = isStopped ? "stopped" : await this.#trySweep();
      if (swept !== "stopped") return swept;
    }
    this.#warn("A box that stops what comes into it is started anew.");
    return this.#restart();
  }

  async #trySweep(): Promise<Clearing | null | "stopped"> {
    try {
      return { rung: 2, counters: await this.#sweep() };
    } catch (error) {
      if (this.#isWedged) return "stopped";
      // A box that is just being stopped by somebody else takes no exec either, and must not come back.
      if (!(await this.#staysAlive())) return null;
      this.#warn("The box is started anew to clear it.", error);
      return this.#restart();
    }
  }

  async #sweep(): Promise<BoxCounters> {
    const limit = new AbortController();
    let link: WorkerLink | null = null;
    const giveUp = (): void => {
      this.#isWedged = true;
      limit.abort();
      link?.[Symbol.dispose]();
    };
    using guard = new StallGuard(giveUp, SWEEP_ANSWER_MS, unhurried());
    guard.arm();
    link = await this.#deps.startSweep({ op: "sweep", timeout_ms: SWEEP_MS }, { signal: limit.signal });
    using _link = link;
    const frame = await link.next();
    if (frame?.type !== FROM_WORKER.answer)
      throw new ServiceError("box.readiness", "The box did not answer to a sweep.");
    const { left, ...counters } = readPayload(sweepSchema, frame);
    if (left > 0) throw new ServiceError("box.readiness", `A sweep left ${left} processes in the box.`);
    return counters;
  }

  /** The engine says "running" of a container until the last of its processes is taken. */
  async #staysAlive(): Promise<boolean> {
    const { life } = this.#deps;
    for (let look = 0; look < SETTLING_LOOKS; look += 1) {
      if (!(await life.goesOn())) return false;
      await delay(SETTLING_MS / SETTLING_LOOKS, unhurried());
    }
    return life.goesOn();
  }

  async #restart(): Promise<Clearing | null> {
    const hasBegun = await this.#deps.life.beginAnew();
    this.#isWedged = false;
    return hasBegun ? { rung: 3, counters: null } : null;
  }

  #warn(message: string, cause?: unknown): void {
    this.#deps.logger.warn({ container: this.#deps.container }, message, cause);
  }
}
