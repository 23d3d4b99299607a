/** This process as a worker of the ledger: it claims the runs that it executes, and holds the claims (runs §20.3). */
import { ServiceError } from "../domain/errors.js";
import type { RunId } from "../domain/ids.js";
import type { Clock } from "../ports/clock.js";
import type { Claimant, RunRecord, RunStore } from "../ports/run-store.js";

/** Milliseconds that a claim lasts. With the pauses between two looks no run is without a worker for 60 s (runs §20.4). */
const LEASE_MS = 30_000;

export interface ClaimsDeps {
  readonly runs: RunStore;
  readonly clock: Clock;
  /** Never repeats, across restarts as well. */
  readonly worker: string;
}

export class Claims {
  readonly #deps: ClaimsDeps;

  constructor(deps: ClaimsDeps) {
    this.#deps = deps;
  }

  /** @returns the run under its new epoch; null when it is not to be had */
  async take(id: RunId): Promise<RunRecord | null> {
    return this.#deps.runs.claim(id, this.#claimant);
  }

  /** The same for a run whose worker is known to be dead. */
  async takeOver(id: RunId): Promise<RunRecord | null> {
    return this.#deps.runs.claim(id, { ...this.#claimant, now: Number.MAX_SAFE_INTEGER });
  }

  /** Puts a run that has not begun back into the queue. */
  async giveBack({ id, epoch }: RunRecord): Promise<void> {
    await this.#deps.runs.release(id, epoch, this.#deps.clock.now());
  }

  /** Prolongs the claims. @returns the runs that are still this worker's */
  async renew(): Promise<ReadonlySet<RunId>> {
    return new Set(await this.#deps.runs.renew(this.#claimant));
  }

  get #claimant(): Claimant {
    const now = this.#deps.clock.now();
    return { worker: this.#deps.worker, now, expiresAt: now + LEASE_MS };
  }
}

/** Why a run is stopped whose claim has expired or was taken over. */
export function claimLost(): ServiceError {
  return new ServiceError("run.interrupted", "This worker lost its claim on the run.", {
    hint: "Repeat it with POST /v1/runs/{id}/retry; files that were exported are kept.",
  });
}
