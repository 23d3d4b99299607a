/** Builds the frozen context that a runner is given (runs §10). */
import type { Binding } from "../domain/binding.js";
import type { ContentItem, Conversation } from "../domain/event.js";
import type { Resources } from "../domain/resources.js";
import type { DeliveryHints, RunContext } from "../domain/run-context.js";
import type { RunnerDescriptor } from "../domain/runner-manifest.js";
import { frozenCopy } from "../lib/frozen-copy.js";
import type { RunRecord } from "../ports/run-store.js";
import { availableApis } from "./available-apis.js";
import { conversationId } from "./conversation-key.js";
import { permittedScopes } from "./state-places.js";
import { attachmentNote } from "./user-entry.js";

export interface ContextInputs {
  readonly run: RunRecord;
  readonly binding: Binding;
  readonly descriptor: RunnerDescriptor;
  readonly resources: Resources;
  /** Snapshot of the permitted scopes (runs §16). */
  readonly state: RunContext["state"];
  /** There is an effective prompt, which the runner pulls. */
  readonly hasPrompt: boolean;
  /** Unix milliseconds. */
  readonly deadlineAt: number;
  readonly hostVersion: string;
  readonly place: PlaceInHistory;
  /** Bytes per exported file on this surface, or null. */
  readonly maxFileBytes: number | null;
  /** The run's box can be written, so files can be exported (box §10.2). */
  readonly canExport: boolean;
}

/** Where a run stands in what is kept of its conversation, once its own event is recorded. */
export interface PlaceInHistory {
  readonly eventSeq: number;
  /** Of the user's message; null for an event that is none. */
  readonly transcriptSeq: number | null;
  /** Of the newest message of the conversation, the run's own included. */
  readonly latestSeq: number | null;
  /** The conversation holds messages of other runs. */
  readonly hasHistory: boolean;
}

export function buildContext(inputs: ContextInputs): RunContext {
  const { run } = inputs;
  const event = eventOf(run);
  return frozenCopy({
    run_id: run.id,
    trigger: { type: event.event_type, source: event.source, timestamp: event.event_time },
    conversation: conversationOf(run),
    event,
    actor: run.trigger.actor,
    subject: run.trigger.subject,
    input: inputOf(inputs),
    prompt: [],
    messages: [],
    params: { ...run.params },
    delivery: deliveryOf(inputs),
    resources: inputs.resources,
    context: historyOf(inputs),
    state: inputs.state,
    runtime: runtimeOf(inputs),
    config: configOf(inputs),
    adapter: { extra: { params: { ...run.params }, metadata: {} } },
  });
}

/** To a runner that takes text only, a file among the contents is told in words (runs §2.2). */
function inputOf({ run, descriptor }: ContextInputs): RunContext["input"] {
  if (descriptor.capabilities.multimodal_input) return run.input;
  const notes = new Map(
    run.input.attachments.map(({ reference }, index) => [reference, run.attachments[index]]),
  );
  const contents = run.input.contents.map((item): ContentItem => {
    const outcome = item.type === "attachment" ? notes.get(item.reference) : undefined;
    return outcome === undefined ? item : { type: "text", text: attachmentNote(run, outcome) };
  });
  return { ...run.input, contents };
}

/** What an effective prompt was made of is not pushed beside it (runs §10.1). */
function configOf({ binding, descriptor, hasPrompt }: ContextInputs): RunContext["config"] {
  if (!hasPrompt) return { ...binding.config };
  const isPrompt = (key: string): boolean =>
    descriptor.config_schema.some(({ name, type }) => name === key && type === "prompt-editor");
  return Object.fromEntries(Object.entries(binding.config).filter(([key]) => !isPrompt(key)));
}

function eventOf(run: RunRecord): RunContext["event"] {
  const { event_type, event_time, source_event_type, data } = run.trigger;
  return { event_id: run.eventId, event_type, event_time, source: run.surface, source_event_type, data };
}

/** REST waits for the whole answer; only a stream of events shows snapshots (runs §12.1). */
function isStreaming({ surface }: RunRecord): boolean {
  return surface === "sse";
}

function deliveryOf({ run, maxFileBytes }: ContextInputs): DeliveryHints {
  return {
    surface: run.surface,
    reply_target: run.chat === null ? null : `${run.chat.launcher_type}:${run.chat.launcher_id}`,
    supports_streaming: isStreaming(run),
    supports_edit: false,
    supports_reaction: false,
    max_message_size: null,
    max_file_size: maxFileBytes,
    interactions: [],
    platform_capabilities: [],
  };
}

function historyOf(inputs: ContextInputs): RunContext["context"] {
  const { run, place } = inputs;
  const hasConversation = run.chat !== null;
  return {
    conversation_id: conversationId(run),
    thread_id: run.chat?.thread_id ?? null,
    latest_cursor: hasConversation && place.latestSeq !== null ? String(place.latestSeq) : null,
    event_seq: place.eventSeq,
    transcript_seq: place.transcriptSeq,
    has_history_before: hasConversation && place.hasHistory,
    inline_policy: {
      mode: "current_event",
      delivered_count: 0,
      messages_complete: false,
      reason: "The runner pulls its history.",
    },
    available_apis: availableApis({
      permissions: inputs.descriptor.permissions,
      canSteer: inputs.descriptor.capabilities.steering,
      resources: inputs.resources,
      scopes: permittedScopes(inputs.binding.state, run.trigger.event_type),
      hasPrompt: inputs.hasPrompt,
      hasConversation,
      isAdministrator: inputs.binding.policy.administrator,
      hasBox: run.session !== null,
      canExport: inputs.canExport,
    }),
  };
}

/** Window and limit are those of the first language model, whatever the fallbacks declare (runs §10.2). */
function runtimeOf({ run, resources, hostVersion, deadlineAt }: ContextInputs): RunContext["runtime"] {
  const model = resources.models.find(({ type }) => type === "llm");
  return {
    host_version: hostVersion,
    trace_id: run.id,
    deadline_at: deadlineAt / 1000,
    metadata: {
      bot_id: run.chat?.bot_id ?? null,
      workspace_id: run.tenant,
      streaming_supported: isStreaming(run),
      model_context_window_tokens: model?.context_window ?? null,
      model_max_output_tokens: model?.max_output_tokens ?? null,
    },
  };
}

function conversationOf({ chat, params, conversation, tenant }: RunRecord): Conversation | null {
  if (chat === null) return null;
  const { launcher_type, launcher_id, thread_id, sender_id, bot_id } = chat;
  return {
    session_id: `${launcher_type}_${launcher_id}`,
    conversation_id: conversationId({ chat, params, conversation }),
    thread_id,
    launcher_type,
    launcher_id,
    sender_id,
    bot_id,
    workspace_id: tenant,
  };
}
