/** The check that stands before every host call of a run (runs §15.4, §19.3). */
import { ServiceError } from "../../domain/errors.js";
import { type LinkedSignal, linkSignals } from "../../lib/link-signals.js";
import type { Logger } from "../../ports/logger.js";
import type { CallOptions } from "../../ports/options.js";

export interface RunGateDeps {
  readonly runId: string;
  /** Aborts with the reason why the run was stopped. */
  readonly signal: AbortSignal;
  readonly logger: Logger;
}

export class RunGate {
  readonly #deps: RunGateDeps;
  #isOpen = true;

  constructor(deps: RunGateDeps) {
    this.#deps = deps;
  }

  /** After the run has ended, its host answers nothing any more. */
  close(): void {
    this.#isOpen = false;
  }

  /** @throws ServiceError `host.not_found` after the run, `host.deadline_exceeded` or `cancelled` once it was stopped */
  check(): void {
    if (!this.#isOpen) throw new ServiceError("host.not_found", "Run session not found: the run has ended.");
    const { signal } = this.#deps;
    if (!signal.aborted) return;
    const reason: unknown = signal.reason;
    if (reason instanceof ServiceError && reason.code === "runner.timeout")
      throw new ServiceError("host.deadline_exceeded", "The run has no time left.", { cause: reason });
    throw reason;
  }

  /** For what a run may still ask after its end, under what was authorised for it (runs §15.5). @throws as `check`, before the end */
  checkAuthorisation(): void {
    if (this.#isOpen) this.check();
  }

  /** A refusal that reaches no provider; logged here, once. */
  refuse(what: string): ServiceError {
    this.#deps.logger.warn(
      { runId: this.#deps.runId, code: "host.unauthorized" },
      "A host call was refused.",
    );
    return new ServiceError("host.unauthorized", `This run is not authorized for ${what}.`, {
      hint: "Grant it in the pipeline or in the runner's config.",
    });
  }

  /** One signal for the run and the call. */
  link(options: CallOptions): LinkedSignal {
    return linkSignals(this.#deps.signal, options.signal);
  }
}
