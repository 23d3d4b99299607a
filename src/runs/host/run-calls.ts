/** `run_…` and `append_result`: runs of the own runner and conversation, or with administrator rights of the tenant (runs §15.5). */
import { ServiceError } from "../../domain/errors.js";
import type { RunId } from "../../domain/ids.js";
import { isTerminal, publicStatus, RUN_STATES, type Run, type RunEvent } from "../../domain/run.js";
import type { SecretMask } from "../../lib/secret-mask.js";
import type { Clock } from "../../ports/clock.js";
import type { FileStore } from "../../ports/file-store.js";
import type { CallOptions } from "../../ports/options.js";
import type { RunEvents } from "../../ports/run-events.js";
import type { HostRuns, RunEventsRequest, RunListRequest } from "../../ports/run-host.js";
import type { RunRecord, RunStore } from "../../ports/run-store.js";
import { toRunObject, toTime } from "../run-object.js";
import { readAppended } from "./appended-result.js";
import { type HostPage, pageLimit, readCursor, toPage } from "./host-pages.js";
import type { RunGate } from "./run-gate.js";

export interface RunCallsDeps {
  readonly gate: RunGate;
  /** Who asks: what was authorised when this run was registered counts, also after its end. */
  readonly caller: Pick<RunRecord, "tenant" | "runner" | "conversation">;
  readonly isAdministrator: boolean;
  readonly runs: RunStore;
  readonly files: FileStore;
  readonly events: RunEvents;
  readonly clock: Clock;
  readonly mask: SecretMask;
  /** Stops a run that has not ended. @throws ServiceError `run.ended` */
  readonly cancelRun: (tenant: string, id: RunId, options: CallOptions) => Promise<Run>;
}

export class RunCalls implements HostRuns {
  readonly #deps: RunCallsDeps;

  constructor(deps: RunCallsDeps) {
    this.#deps = deps;
  }

  async get(id: RunId): Promise<Run> {
    return this.#toObject(await this.#find("run_get", id));
  }

  async list({ status, cursor, limit: asked }: RunListRequest): Promise<HostPage<Run>> {
    const { gate, runs, caller, isAdministrator } = this.#deps;
    gate.checkAuthorisation();
    const limit = pageLimit(asked);
    const states =
      status === undefined ? undefined : RUN_STATES.filter((state) => publicStatus(state) === status);
    const own = isAdministrator ? {} : { runner: caller.runner, conversation: caller.conversation };
    const found = await runs.list(caller.tenant, { ...own, states, limit: limit + 1, after: cursor });
    const items = await Promise.all(found.slice(0, limit).map((run) => this.#toObject(run)));
    return {
      items,
      next_cursor: items.at(-1)?.id ?? null,
      prev_cursor: items[0]?.id ?? null,
      has_more: found.length > limit,
    };
  }

  async eventsPage({ runId, cursor, limit: asked }: RunEventsRequest): Promise<HostPage<RunEvent>> {
    const run = await this.#find("run_events_page", runId);
    const limit = pageLimit(asked);
    const found = await this.#deps.runs.eventsAfter(run.id, readCursor(cursor) ?? 0, limit + 1);
    return toPage(found, limit);
  }

  async cancel(id: RunId, options: CallOptions): Promise<Run> {
    const run = await this.#find("run_cancel", id);
    if (isTerminal(run.state)) throw hasEnded(run);
    return this.#deps.cancelRun(run.tenant, run.id, options);
  }

  async appendResult(id: RunId, result: unknown): Promise<RunEvent> {
    const { gate, isAdministrator, runs, events, clock, mask } = this.#deps;
    gate.checkAuthorisation();
    if (!isAdministrator) throw gate.refuse("append_result");
    const { type, data } = readAppended(result, id);
    const run = await this.#find("append_result", id);
    const timestamp = toTime(clock.now());
    const event = await runs.appendEvent(run.id, { type, data: mask.value(data), timestamp });
    if (event === null) throw hasEnded(run);
    events.notify(run.id, event.sequence);
    return event;
  }

  /** A run of another tenant is one that is not there; another one of the tenant is refused. */
  async #find(action: string, id: RunId): Promise<RunRecord> {
    const { gate, runs, caller, isAdministrator } = this.#deps;
    gate.checkAuthorisation();
    const run = await runs.get(caller.tenant, id);
    if (run === null) throw new ServiceError("host.not_found", `There is no run "${id.slice(0, 100)}".`);
    const isOwn = run.runner === caller.runner && run.conversation === caller.conversation;
    if (!isOwn && !isAdministrator) throw gate.refuse(`${action} of another runner or conversation`);
    return run;
  }

  async #toObject(run: RunRecord): Promise<Run> {
    return toRunObject(run, await this.#deps.files.listByRun(run.tenant, run.id));
  }
}

function hasEnded({ state }: RunRecord): ServiceError {
  return new ServiceError("run.ended", `The run has ended already: it is ${publicStatus(state)}.`, {
    details: { status: publicStatus(state) },
  });
}
