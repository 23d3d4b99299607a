/** Builds the one object that a runner may ask: every method checks the run's resources, then calls the port (runs §15). */
import type { ReuseKey } from "../../box/reuse-key.js";
import type { Message } from "../../domain/message.js";
import type { Usage } from "../../domain/usage.js";
import { frozenCopy } from "../../lib/frozen-copy.js";
import type { SecretMask } from "../../lib/secret-mask.js";
import type { ChatModel } from "../../ports/chat-model.js";
import type { Clock } from "../../ports/clock.js";
import type { EventStore } from "../../ports/event-store.js";
import type { FileStore } from "../../ports/file-store.js";
import type { KnowledgeBase } from "../../ports/knowledge-base.js";
import type { Logger } from "../../ports/logger.js";
import type { Metrics } from "../../ports/metrics.js";
import type { Reranker } from "../../ports/reranker.js";
import type { RunEvents } from "../../ports/run-events.js";
import type { RunHost } from "../../ports/run-host.js";
import type { RunRecord, RunStore } from "../../ports/run-store.js";
import type { StateStore } from "../../ports/state-store.js";
import type { TranscriptStore } from "../../ports/transcript-store.js";
import type { ToolCatalog } from "../../tools/tool-catalog.js";
import type { RunPlan } from "../plan-run.js";
import { planSession } from "../plan-session.js";
import type { RunRecorder } from "../record-run.js";
import { stateIdentity } from "../state-identity.js";
import { permittedScopes } from "../state-places.js";
import { captureFile } from "./capture-file.js";
import type { KeyValues } from "./key-values.js";
import { ModelCalls } from "./model-calls.js";
import { PastCalls } from "./past-calls.js";
import { pullSteering } from "./pull-steering.js";
import { rerankDocuments } from "./rerank-documents.js";
import { retrieveKnowledge } from "./retrieve-knowledge.js";
import { RunBox, type RunBoxDeps } from "./run-box.js";
import { RunCalls, type RunCallsDeps } from "./run-calls.js";
import { RunGate } from "./run-gate.js";
import { RunState } from "./run-state.js";
import type { StateSnapshot } from "./state-snapshot.js";
import { ToolCalls } from "./tool-calls.js";

export interface HostDeps {
  readonly models: ReadonlyMap<string, ChatModel>;
  readonly catalog: Pick<ToolCatalog, "find" | "hostNames">;
  readonly rerankers: ReadonlyMap<string, Reranker>;
  readonly knowledgeBases: ReadonlyMap<string, KnowledgeBase>;
  readonly runs: RunStore;
  readonly events: RunEvents;
  readonly eventRecords: EventStore;
  readonly transcripts: TranscriptStore;
  /** Stops a run that has not ended. @throws ServiceError `run.ended` */
  readonly cancelRun: RunCallsDeps["cancelRun"];
  readonly files: FileStore;
  readonly state: StateStore;
  readonly box: RunBoxDeps;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly mask: SecretMask;
  /** Milliseconds of one tool call (local-agent §7.6). */
  readonly toolTimeoutMs: number;
}

/** The host of one run, and what the orchestrator needs of it at the end. */
export interface LiveHost {
  readonly api: RunHost;
  /** For state that a runner updates by a result; the rules are those of the call. */
  readonly state: KeyValues;
  readState(): Promise<StateSnapshot>;
  usage(): Usage;
  attachments(): RunRecord["attachments"];
  /** Closes the host, lists the outbox and lets the box go. */
  leave(): Promise<RunRecord["outboxLeft"]>;
}

export interface HostOf {
  readonly run: RunRecord;
  readonly plan: RunPlan;
  /** The effective prompt; empty = the host has none of its own. */
  readonly prompt: readonly Message[];
  readonly recorder: RunRecorder;
  readonly signal: AbortSignal;
}

/** What stands before a call, and what it is judged by. */
interface Gated extends Pick<HostOf, "run" | "plan"> {
  readonly gate: RunGate;
}

export function createRunHost(deps: HostDeps, { run, plan, prompt, recorder, signal }: HostOf): LiveHost {
  const gate = new RunGate({ runId: run.id, signal, logger: deps.logger });
  const box = new RunBox(deps.box, {
    run,
    recorder,
    gate,
    renderKey: () => renderKey(run, plan, deps.box.boxes.requiredReuseKey),
  });
  const models = new ModelCalls({ gate, resources: plan.resources.models, models: deps.models });
  const tools = toolsOf(deps, { plan, gate, recorder, box });
  const frozenPrompt = frozenCopy(prompt);
  const kept = stateOf(deps, { run, plan, gate });
  const past = pastOf(deps, { run, plan, gate });
  const api: RunHost = {
    state: kept.state,
    storage: kept.storage,
    invokeModel: (call, options) => models.invoke(call, options),
    streamModel: (call, options) => models.stream(call, options),
    getToolDetail: (name) => tools.detail(name),
    callTool: (call, options) => tools.call(call, options),
    getPrompt: async () => {
      gate.check();
      return frozenPrompt;
    },
    pullSteering: (request) => pullSteering({ gate, recorder, isSteerable: isSteerable(plan) }, request),
    ...resourceCalls(deps, { run, plan, gate, recorder }),
    historyPage: (request) => past.historyPage(request),
    historySearch: (request) => past.historySearch(request),
    eventGet: (eventId) => past.eventGet(eventId),
    eventPage: (request) => past.eventPage(request),
    runs: runsOf(deps, { run, plan, gate }),
    ...boxCalls(box),
  };
  return {
    api,
    state: kept.state,
    readState: () => kept.snapshot(),
    usage: () => models.usage,
    attachments: () => box.attachments,
    leave: async () => {
      gate.close();
      return box.leave();
    },
  };
}

function toolsOf(
  deps: HostDeps,
  of: Pick<HostOf, "plan" | "recorder"> & { readonly gate: RunGate; readonly box: RunBox },
): ToolCalls {
  const { plan, recorder, gate, box } = of;
  return new ToolCalls({
    ...deps,
    gate,
    recorder,
    resources: plan.resources.tools,
    otherNames: plan.otherTools,
    box: () => box.forTools(),
    requireEngine: (options) => deps.box.boxes.requireEngine(options),
    timeoutMs: deps.toolTimeoutMs,
  });
}

function boxCalls(
  box: RunBox,
): Pick<
  RunHost,
  "readImage" | "boxStatus" | "acquireBox" | "bindBox" | "importAttachments" | "saveToolResult"
> {
  return {
    readImage: (reference, maxBytes, options) => box.readImage(reference, maxBytes, options),
    boxStatus: (options) => box.status(options),
    acquireBox: (request, options) => box.acquire(request, options),
    bindBox: (options) => box.bind(options),
    importAttachments: (options) => box.importAttachments(options),
    saveToolResult: (callId, text, options) => box.saveToolResult(callId, text, options),
  };
}

/** What is authorised by the resource, or by the manifest alone. */
function resourceCalls(
  deps: HostDeps,
  { run, plan, gate, recorder }: Gated & Pick<HostOf, "recorder">,
): Pick<RunHost, "retrieveKnowledge" | "rerank" | "captureFile"> {
  const { models, knowledge_bases } = plan.resources;
  const isPermitted = plan.runner.descriptor.permissions.files.includes("capture");
  return {
    retrieveKnowledge: (request, options) =>
      retrieveKnowledge({ ...deps, gate, run, resources: knowledge_bases }, request, options),
    rerank: (call, options) => rerankDocuments({ ...deps, gate, resources: models }, call, options),
    captureFile: (request, options) =>
      captureFile(deps.box, { run, gate, recorder, isPermitted }, { request, options }),
  };
}

function pastOf(deps: HostDeps, { run, plan, gate }: Gated): PastCalls {
  const { transcripts, eventRecords } = deps;
  const { permissions } = plan.runner.descriptor;
  return new PastCalls({ gate, run, permissions, transcripts, eventRecords });
}

function runsOf(deps: HostDeps, { run: caller, plan, gate }: Gated): RunCalls {
  return new RunCalls({ ...deps, gate, caller, isAdministrator: plan.binding.policy.administrator });
}

function stateOf({ state: store, clock }: HostDeps, { run, plan, gate }: Gated): RunState {
  const { binding, runner, resources } = plan;
  const { plugin_author: author, plugin_name: plugin } = runner.descriptor;
  return new RunState(
    { gate, store, clock },
    {
      identity: stateIdentity(run),
      scopes: permittedScopes(binding.state, run.trigger.event_type),
      storage: resources.storage,
      packageId: `${author}/${plugin}`,
    },
  );
}

function isSteerable({ runner }: RunPlan): boolean {
  return runner.descriptor.capabilities.steering;
}

/** As at the admission of the message. */
function renderKey(run: RunRecord, plan: RunPlan, requiredKey: string | null): ReuseKey | null {
  const { runner, binding, resources } = plan;
  const { id: runId, tenant, chat, eventId, params } = run;
  const { actor, event_type: eventType } = run.trigger;
  const facts = { tenant, runId, chat, actorId: actor.id, eventId, eventType, params, requiredKey };
  return planSession(runner.planBox(binding.config), resources, facts);
}
