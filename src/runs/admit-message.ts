/** Turns a request into a stored, queued run; every refusal comes before anything of it exists (runs §7, api §2). */
import { createHash } from "node:crypto";
import type { BoxService } from "../box/box-service.js";
import type { RunId } from "../domain/ids.js";
import { NO_USAGE } from "../domain/usage.js";
import type { Clock } from "../ports/clock.js";
import type { IdSource } from "../ports/id-source.js";
import type { CallOptions } from "../ports/options.js";
import type { RunOutcome, RunRecord, RunStore } from "../ports/run-store.js";
import { buildTrigger } from "./build-trigger.js";
import { conversationKey, loneKey } from "./conversation-key.js";
import { type ConversationFacts, currentConversation } from "./current-conversation.js";
import { filterParams } from "./filter-params.js";
import { findListener } from "./find-listener.js";
import { type PlanDeps, planRun } from "./plan-run.js";
import { planSession } from "./plan-session.js";
import { type PrepareDeps, prepareInput } from "./prepare-input.js";
import type { Caller, RunRequest } from "./run-request.js";

export interface AdmitDeps {
  readonly plan: PlanDeps;
  readonly prepare: PrepareDeps;
  readonly boxes: Pick<BoxService, "findOrCreateSession" | "requiredReuseKey">;
  readonly ids: IdSource;
  readonly clock: Clock;
  readonly runs: Pick<RunStore, "list">;
}

export interface Admitted {
  /** Of the run that the message or event becomes. */
  readonly id: RunId;
  readonly request: RunRequest;
  readonly caller: Caller;
  /** Throws when a conversation takes no more messages; asked before anything is kept. */
  readonly checkRoom: (conversation: string) => void;
}

/** Makes the record of a run; the caller stores it. */
export async function admitMessage(
  deps: AdmitDeps,
  { id, request, caller, checkRoom }: Admitted,
  options: CallOptions,
): Promise<RunRecord> {
  const { tenant } = caller;
  const { chat, text, contents } = request;
  const { event, messageChain, pipeline } = readEvent(request, deps.plan);
  const planned = { tenant, botId: chat?.bot_id ?? null, pipeline };
  const { binding, runner, resources } = await planRun(deps.plan, planned, options);
  const params = filterParams(request.variables);
  const createdAt = deps.clock.now();
  const trigger = buildTrigger(event, { id, chat, createdAt });
  const eventId = eventIdOf({ tenant, id, pipeline: binding.pipeline, request });
  const facts = {
    tenant,
    runId: id,
    chat,
    actorId: trigger.actor.id,
    eventId,
    eventType: trigger.event_type,
    params,
    requiredKey: deps.boxes.requiredReuseKey,
  };
  const key = planSession(runner.planBox(binding.config), resources, facts);
  const { expireSec } = binding;
  const place = { tenant, chat, pipeline: binding.pipeline, params, expireSec, now: createdAt };
  const conversation = chat === null ? loneKey(id) : await conversationOf(deps.runs, { ...place, chat });
  checkRoom(conversation);
  const prepared = await prepareInput(deps.prepare, { tenant, text, contents, messageChain }, options);
  const session = key === null ? null : await deps.boxes.findOrCreateSession(tenant, key, options);
  return {
    id,
    tenant,
    pipeline: binding.pipeline,
    runner: runner.descriptor.id,
    chat,
    conversation,
    eventId,
    trigger,
    surface: request.surface,
    state: "queued",
    session: session === null ? null : { id: session.id, key: session.key },
    input: prepared.input,
    params,
    attachments: prepared.outcomes,
    attachmentSources: prepared.sources,
    onDisconnect: request.onDisconnect,
    retryOf: null,
    ...untouched(createdAt),
  };
}

/** What an event says besides what a message says too, and which pipeline answers it. */
function readEvent(request: RunRequest, { pipelines }: PlanDeps) {
  if (!("event" in request)) return { event: null, messageChain: [], pipeline: request.pipeline };
  const { event, messageChain } = request;
  return { event, messageChain, pipeline: findListener(pipelines, event.type, request.pipeline) };
}

async function conversationOf(
  runs: AdmitDeps["runs"],
  place: Omit<ConversationFacts, "base"> & {
    readonly pipeline: string;
    readonly params: RunRecord["params"];
  },
): Promise<string> {
  const base = conversationKey(place.chat, place.pipeline, place.params);
  return currentConversation(runs, { ...place, base });
}

/**
 * A new attempt with the input and the attachments of a run that failed (runs §9.2). Paths of the first attempt stay:
 * the import uses those files where they still exist (box §7.8). What could not be fetched is tried again.
 */
export function repeatRun(run: RunRecord, id: RunId, now: number): RunRecord {
  return {
    ...run,
    id,
    state: "queued",
    retryOf: run.id,
    attachments: run.attachments.map((outcome, index) =>
      run.attachmentSources[index]?.kind === "refused"
        ? outcome
        : { ...outcome, state: "pending" as const, reason: null },
    ),
    ...untouched(now),
  };
}

/** The fields that tell what became of a run. */
type Untouched = Omit<RunOutcome, "state" | "attachments" | "endedAt"> &
  Pick<RunRecord, "createdAt" | "startedAt" | "endedAt" | "metadata" | "epoch" | "claim">;

/** What a run has not come to yet. @param createdAt Unix milliseconds */
export function untouched(createdAt: number): Untouched {
  return {
    createdAt,
    startedAt: null,
    endedAt: null,
    message: null,
    outboxLeft: [],
    model: null,
    toolRounds: 0,
    usage: NO_USAGE,
    finishReason: null,
    warnings: [],
    error: null,
    metadata: {},
    epoch: 0,
    claim: null,
  };
}

/** Equal local ids of two bindings differ (runs §11.3); the run id is the local message id of our own surfaces. */
function eventIdOf(facts: { tenant: string; id: RunId; pipeline: string; request: RunRequest }): string {
  const { chat, surface } = facts.request;
  const parts = [
    facts.tenant,
    chat?.bot_id ?? null,
    facts.pipeline,
    surface,
    chat?.conversation_id ?? chat?.launcher_id ?? null,
    facts.id,
  ];
  return `host:${createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 32)}`;
}
