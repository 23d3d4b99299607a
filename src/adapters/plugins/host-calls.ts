/**
 * Host calls of one package's process. The caller is the package whose process this is: it gets at the hosts of the runs
 * that execute in this process and at nothing else, whatever it claims (runs §15.4).
 */
import { ServiceError } from "../../domain/errors.js";
import { toHostError } from "../../domain/host-error.js";
import { linkSignals } from "../../lib/link-signals.js";
import type { HostActions } from "../../ports/host-actions.js";
import type { Logger } from "../../ports/logger.js";
import type { ChildFrame, HostFrame } from "./frames.js";
import type { PluginRun } from "./plugin-run.js";

/** Open calls of one run. */
const MAX_OPEN = 32;
/** Refusals of one process that are logged; a package that does not stop would fill the log. */
const MAX_LOGGED = 20;

export interface HostCallsDeps {
  /** `author/plugin`. */
  readonly packageId: string;
  readonly actions: HostActions;
  readonly logger: Logger;
  /** Runs that execute in this process. */
  readonly runs: ReadonlyMap<string, PluginRun>;
  /** @returns false for a frame that is too large */
  readonly send: (frame: HostFrame) => Promise<boolean>;
}

type CallFrame = Extract<ChildFrame, { type: "call" }>;

interface OpenCall {
  readonly run: PluginRun;
  readonly controller: AbortController;
}

export class HostCalls {
  readonly #deps: HostCallsDeps;
  readonly #open = new Map<number, OpenCall>();
  #logged = 0;

  constructor(deps: HostCallsDeps) {
    this.#deps = deps;
  }

  /** @throws ServiceError `runner.protocol` for a call id that is open already */
  take(frame: CallFrame): void {
    if (this.#open.has(frame.id))
      throw new ServiceError("runner.protocol", "The package used the id of an open call again.");
    let run: PluginRun;
    try {
      run = this.#authorise(frame);
    } catch (error) {
      void this.#deps.send({ type: "failure", id: frame.id, error: toHostError(error) });
      return;
    }
    const controller = new AbortController();
    this.#open.set(frame.id, { run, controller });
    void this.#answer(frame, { run, controller });
  }

  /** The process does not wait for that answer. */
  leave(id: number): void {
    this.#open.get(id)?.controller.abort(new ServiceError("cancelled", "The runner gave the call up."));
  }

  #authorise({ run_id, caller }: CallFrame): PluginRun {
    const { packageId, runs } = this.#deps;
    if (caller !== undefined && caller !== packageId)
      throw this.#refuse("This package is not authorized to call as another one.");
    if (run_id === undefined || run_id === null)
      throw this.#refuse("A call that names no run is not authorized.");
    const run = typeof run_id === "string" ? runs.get(run_id) : undefined;
    if (run === undefined || run.hasEnded)
      throw this.#refuse("Run session not found: this package is not authorized for it.", "host.not_found");
    const open = [...this.#open.values()].filter((call) => call.run === run).length;
    if (open < MAX_OPEN) return run;
    throw new ServiceError(
      "request.rate_limited",
      `The run has ${open} open calls; the limit is ${MAX_OPEN}.`,
    );
  }

  #refuse(message: string, code: "host.unauthorized" | "host.not_found" = "host.unauthorized"): ServiceError {
    this.#logged += 1;
    if (this.#logged <= MAX_LOGGED)
      this.#deps.logger.warn(
        { package: this.#deps.packageId, code },
        "A host call of a package was refused.",
      );
    return new ServiceError(code, message);
  }

  async #answer({ id, action, payload }: CallFrame, { run, controller }: OpenCall): Promise<void> {
    using linked = linkSignals(run.signal, controller.signal);
    try {
      const answer = await this.#deps.actions.perform(run.host, { action, payload }, linked);
      if (answer.kind === "value") await this.#send({ type: "value", id, value: answer.value ?? null });
      else {
        for await (const value of answer.values) {
          linked.signal.throwIfAborted();
          await this.#send({ type: "item", id, value });
        }
        await this.#send({ type: "end", id });
      }
    } catch (error) {
      if (!linked.signal.aborted) await this.#fail(id, error);
    } finally {
      this.#open.delete(id);
    }
  }

  async #send(frame: HostFrame): Promise<void> {
    if (await this.#deps.send(frame)) return;
    throw new ServiceError(
      "request.too_large",
      "The answer is too large for the way to the package's process.",
    );
  }

  async #fail(id: number, error: unknown): Promise<void> {
    const { logger, packageId, send } = this.#deps;
    if (!(error instanceof ServiceError))
      logger.error({ package: packageId }, "A host call failed in an unexpected way.", error);
    await send({ type: "failure", id, error: toHostError(error) });
  }
}
