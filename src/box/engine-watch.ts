/** Whether the engine can carry boxes: probed at start, on use and at intervals (box §3.2, §18.1). */
import { type ErrorCode, ServiceError, toServiceError } from "../domain/errors.js";
import { linkSignals } from "../lib/link-signals.js";
import { SingleFlight } from "../lib/single-flight.js";
import type { BoxBackend, EngineFacts } from "../ports/box-backend.js";
import type { Logger } from "../ports/logger.js";
import type { CallOptions } from "../ports/options.js";
import type { RecentErrors } from "./recent-errors.js";

export type EngineState = { readonly state: "unknown" } | ProbedState;

export type ProbedState =
  | { readonly state: "available"; readonly facts: EngineFacts }
  | {
      readonly state: "unavailable";
      readonly code: ErrorCode;
      readonly reason: string;
      readonly hint: string;
    };

const PROBE_MS = 5000;

export interface EngineWatchDeps {
  readonly backend: BoxBackend;
  readonly logger: Logger;
  readonly errors: Pick<RecentErrors, "add">;
  /** Without it the engine cannot carry boxes. */
  readonly image: string;
}

export class EngineWatch {
  readonly #deps: EngineWatchDeps;
  readonly #probes = new SingleFlight<"probe", ProbedState>();
  #state: EngineState = { state: "unknown" };

  constructor(deps: EngineWatchDeps) {
    this.#deps = deps;
  }

  get isAvailable(): boolean {
    return this.#state.state === "available";
  }

  /** What is known; the first caller waits for the first probe, at most 5 s. */
  async current(options: CallOptions): Promise<EngineState> {
    return this.#state.state === "unknown" ? this.check(options) : this.#state;
  }

  /** Probes; callers at the same time share one probe. Fails only with the signal's reason. */
  async check(options: CallOptions): Promise<ProbedState> {
    return this.#probes.run("probe", (signal) => this.#probe(signal), options);
  }

  /**
   * For use: an engine that was not available is probed again.
   * @throws ServiceError `box.engine_unavailable`, `box.readiness` (no image)
   */
  async ready(options: CallOptions): Promise<EngineFacts> {
    if (this.#state.state === "available") return this.#state.facts;
    const state = await this.check(options);
    if (state.state === "available") return state.facts;
    throw new ServiceError(state.code, state.reason, { hint: state.hint });
  }

  /** An error of a call that shows the engine lost: the next use probes first. */
  report(error: unknown): void {
    if (error instanceof ServiceError && error.code === "box.engine_unavailable") this.#set(describe(error));
  }

  async #probe(signal: AbortSignal): Promise<ProbedState> {
    using linked = linkSignals(signal, AbortSignal.timeout(PROBE_MS));
    try {
      const facts = await this.#deps.backend.probe({ signal: linked.signal });
      const hasImage = await this.#deps.backend.hasImage(this.#deps.image, { signal: linked.signal });
      return this.#set(hasImage ? { state: "available", facts } : missingImage(this.#deps.image));
    } catch (error) {
      signal.throwIfAborted();
      return this.#set(linked.signal.aborted ? describe(noAnswer(error)) : describe(toServiceError(error)));
    }
  }

  #set(next: ProbedState): ProbedState {
    const changed = next.state !== this.#state.state;
    this.#state = next;
    const { logger, backend, errors } = this.#deps;
    if (changed && next.state === "unavailable") {
      errors.add(new ServiceError(next.code, next.reason), null);
      logger.warn(
        { engine: backend.engine, code: next.code, reason: next.reason },
        "The engine is not available.",
      );
    }
    if (changed && next.state === "available") this.#tellFacts(next.facts);
    return next;
  }

  /** An engine may accept an option and ignore it; an operator reads here what its boxes are really kept by. */
  #tellFacts({ version, isolation, quota, warnings }: EngineFacts): void {
    const { logger, backend } = this.#deps;
    const { engine } = backend;
    logger.info({ engine, version, isolation: isolation.join(" "), quota }, "The engine is available.");
    for (const reason of warnings) logger.warn({ engine, reason }, "The engine does not enforce everything.");
  }
}

function noAnswer(cause: unknown): ServiceError {
  return new ServiceError(
    "box.engine_unavailable",
    `The engine did not answer within ${PROBE_MS / 1000} s.`,
    {
      cause,
    },
  );
}

function describe(error: ServiceError): ProbedState {
  const hint = error.hint ?? "Check that the engine runs and answers, or switch boxes off.";
  return { state: "unavailable", code: error.code, reason: error.message, hint };
}

function missingImage(image: string): ProbedState {
  return {
    state: "unavailable",
    code: "box.readiness",
    reason: `The engine has no image "${image}".`,
    hint: "Build it with npm run image, or name another one in boxes.image.",
  };
}
