/**
 * Whether the engine can carry boxes: probed at start, on use and at intervals (box §3.2, §18.1); what keeps its boxes
 * apart is proved once each time it has come back (security §4).
 */
import type { BoxSettings } from "../domain/box.js";
import { ServiceError, toServiceError } from "../domain/errors.js";
import { linkSignals } from "../lib/link-signals.js";
import { SingleFlight } from "../lib/single-flight.js";
import type { BoxBackend, EngineFacts } from "../ports/box-backend.js";
import type { Clock } from "../ports/clock.js";
import type { Logger } from "../ports/logger.js";
import type { CallOptions } from "../ports/options.js";
import {
  type EngineState,
  judgeEngine,
  type ProbedState,
  type Proof,
  requireAvailable,
} from "./engine-state.js";
import type { RecentErrors } from "./recent-errors.js";

const PROBE_MS = 5000;
/** A self-check makes and removes a box. */
const PROOF_MS = 60_000;

export interface EngineWatchDeps {
  readonly backend: BoxBackend;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly errors: Pick<RecentErrors, "add">;
  /** Of the boxes: without their image the engine cannot carry them, and a self-check makes one with them. */
  readonly settings: BoxSettings;
}

/** What the last probe said, before anything was proved. */
type Found =
  | { readonly state: "unknown" }
  | { readonly state: "answered"; readonly facts: EngineFacts }
  | Extract<ProbedState, { readonly state: "unavailable" }>;

export class EngineWatch implements AsyncDisposable {
  readonly #deps: EngineWatchDeps;
  readonly #probes = new SingleFlight<"probe", EngineState>();
  readonly #life = new AbortController();
  #found: Found = { state: "unknown" };
  #proof: Proof = { state: "open" };
  #proving: Promise<void> | null = null;
  /** Monotonic; until then whoever asks waits for the self-check. */
  #patientUntilMs = 0;
  /** What the log has last been told, and which warnings since the engine was there. */
  #told = "";
  readonly #warned = new Set<string>();

  constructor(deps: EngineWatchDeps) {
    this.#deps = deps;
  }

  /** Whether boxes may be made that nobody waits for: not beside a self-check. */
  get isAvailable(): boolean {
    return this.#state.state === "available" && this.#proving === null;
  }

  /** What is known; the first callers wait for the first probe and what it proves, at most 5 s. */
  async current(options: CallOptions): Promise<EngineState> {
    if (this.#found.state === "unknown") await this.check(options);
    await this.#settled(options);
    return this.#state;
  }

  /**
   * Probes; callers at the same time share one probe. A self-check that is due is begun and not waited for.
   * Fails only with the signal's reason.
   */
  async check(options: CallOptions): Promise<EngineState> {
    return this.#probes.run("probe", (signal) => this.#probe(signal), options);
  }

  /**
   * For use: an engine that did not answer is probed again; one whose boxes are not kept apart is refused until a
   * later round proves something else.
   * @throws ServiceError `box.engine_unavailable`, `box.readiness` (no image, no isolation, no runtime)
   */
  async ready(options: CallOptions): Promise<EngineFacts> {
    if (this.#found.state !== "answered") await this.check(options);
    await this.#settled(options);
    return requireAvailable(this.#state);
  }

  /** An error of a call that shows the engine lost: the next use probes first. */
  report(error: unknown): void {
    if (error instanceof ServiceError && error.code === "box.engine_unavailable") this.#set(describe(error));
  }

  /** Ends a self-check that goes on, its box removed. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#life.abort(new ServiceError("service.stopping", "The service is stopping."));
    await this.#proving;
  }

  get #state(): EngineState {
    if (this.#found.state !== "answered") return this.#found;
    return judgeEngine(this.#found.facts, this.#proof, this.#deps.settings.runtime);
  }

  async #probe(signal: AbortSignal): Promise<EngineState> {
    const { backend, clock, settings } = this.#deps;
    const startedMs = clock.elapsed();
    using linked = linkSignals(signal, AbortSignal.timeout(PROBE_MS));
    try {
      const facts = await backend.probe({ signal: linked.signal });
      const hasImage = await backend.hasImage(settings.image, { signal: linked.signal });
      if (!hasImage) return this.#set(missingImage(settings.image));
      // Whatever the engine was before, it may come back as another one.
      if (this.#found.state !== "answered") this.#proof = { state: "open" };
      this.#set({ state: "answered", facts });
      this.#beginProof(startedMs + PROBE_MS);
      return this.#state;
    } catch (error) {
      signal.throwIfAborted();
      return this.#set(linked.signal.aborted ? describe(noAnswer(error)) : describe(toServiceError(error)));
    }
  }

  #set(next: Found): EngineState {
    this.#found = next;
    this.#tell();
    return this.#state;
  }

  /** One at a time, and none when the answer is there and good. */
  #beginProof(patientUntilMs: number): void {
    const isProved = this.#proof.state === "proved" && this.#state.state === "available";
    if (this.#proving !== null || isProved || this.#life.signal.aborted) return;
    this.#patientUntilMs = patientUntilMs;
    this.#proving = this.#prove().finally(() => {
      this.#proving = null;
    });
  }

  /** Never rejects. */
  async #prove(): Promise<void> {
    const { backend, settings, logger, errors } = this.#deps;
    using linked = linkSignals(this.#life.signal, AbortSignal.timeout(PROOF_MS));
    try {
      this.#proof = { state: "proved", controls: await backend.selfCheck(settings, linked) };
    } catch (error) {
      if (this.#life.signal.aborted) return;
      const { code, message } = toServiceError(error);
      if (this.#proof.state !== "failed" || this.#proof.reason !== message) {
        errors.add(error, null);
        logger.warn({ engine: backend.engine, code }, "The self-check of boxes failed.", error);
      }
      this.#proof = { state: "failed", reason: message };
    }
    this.#tell();
  }

  async #settled({ signal }: CallOptions): Promise<void> {
    const proving = this.#proving;
    // Clocks have fractions, timers have none.
    const leftMs = Math.ceil(this.#patientUntilMs - this.#deps.clock.elapsed());
    if (proving === null || leftMs <= 0) return;
    using linked = linkSignals(signal, AbortSignal.timeout(leftMs));
    await new Promise<void>((resolve) => {
      linked.signal.addEventListener("abort", () => resolve(), { once: true });
      if (linked.signal.aborted) resolve();
      void proving.then(resolve);
    });
    signal.throwIfAborted();
  }

  /** Everything once. Of an engine that answers nothing is said before the self-check has: then it is true. */
  #tell(): void {
    const state = this.#state;
    if (this.#found.state === "answered" && this.#proof.state === "open") return;
    if (state.state === "available") this.#tellFacts(state.facts);
    if (state.state !== "unavailable" || this.#told === state.state) return;
    const { logger, backend, errors } = this.#deps;
    const { code, reason } = state;
    this.#told = state.state;
    this.#warned.clear();
    errors.add(new ServiceError(code, reason), null);
    logger.warn({ engine: backend.engine, code, reason }, "The engine is not available.");
  }

  /** An engine may accept an option and ignore it; an operator reads here what its boxes are really kept by. */
  #tellFacts({ version, isolation, quota, warnings }: EngineFacts): void {
    const { logger, backend } = this.#deps;
    const { engine } = backend;
    const fields = { engine, version, isolation: isolation.join(" "), quota };
    if (this.#told !== JSON.stringify(fields)) logger.info(fields, "The engine is available.");
    this.#told = JSON.stringify(fields);
    for (const reason of warnings) {
      if (!this.#warned.has(reason))
        logger.warn({ engine, reason }, "The engine does not enforce everything.");
      this.#warned.add(reason);
    }
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

function describe(error: ServiceError): Extract<ProbedState, { readonly state: "unavailable" }> {
  const hint = error.hint ?? "Check that the engine runs and answers, or switch boxes off.";
  return { state: "unavailable", code: error.code, reason: error.message, hint, controls: [] };
}

function missingImage(image: string): Extract<ProbedState, { readonly state: "unavailable" }> {
  return {
    state: "unavailable",
    code: "box.readiness",
    reason: `The engine has no image "${image}".`,
    hint: "Build it with npm run image, or name another one in boxes.image.",
    controls: [],
  };
}
