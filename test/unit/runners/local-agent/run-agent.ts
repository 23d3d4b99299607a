/** Runs the local agent against a fake host and sorts what it yields. */
import { expect } from "vitest";
import type { Message } from "../../../../src/domain/message.js";
import type { ModelResource } from "../../../../src/domain/resources.js";
import type { ResultType, RunnerResult } from "../../../../src/domain/result.js";
import type { AvailableApi, RunContext } from "../../../../src/domain/run-context.js";
import type { AgentHooks } from "../../../../src/runners/local-agent/hooks.js";
import { LocalAgentRunner } from "../../../../src/runners/local-agent/local-agent-runner.js";
import { CountingIds } from "../../../fakes/counting-ids.js";
import { FakeClock } from "../../../fakes/fake-clock.js";
import { type FakeHostParts, FakeRunHost } from "../../../fakes/fake-run-host.js";

/** `expect.stringContaining` with a type that the type-aware linter takes. */
export const textWith = (part: string): unknown => expect.stringContaining(part);

export const BOTH_MODES = [
  { mode: "streamed", streaming: true },
  { mode: "not streamed", streaming: false },
] as const;

type DataOf<Type extends ResultType> = ResultOf<Type>["data"];
type ResultOf<Type extends ResultType> = Extract<RunnerResult, { readonly type: Type }>;

export interface AgentSetup extends FakeHostParts {
  readonly config?: Readonly<Record<string, unknown>>;
  readonly streaming?: boolean;
  readonly text?: string | null;
  readonly input?: RunContext["input"];
  readonly event?: Partial<RunContext["event"]>;
  readonly resources?: readonly ModelResource[];
  readonly apis?: Partial<Record<AvailableApi, boolean>>;
  readonly hooks?: AgentHooks;
  readonly signal?: AbortSignal;
  readonly clock?: FakeClock;
  readonly deadlineSec?: number;
  readonly runId?: `run_${string}`;
}

export function aModel(id: string, fields: Partial<ModelResource> = {}): ModelResource {
  return {
    model_id: id,
    type: "llm",
    provider: "example",
    operations: ["invoke", "stream"],
    abilities: ["func_call"],
    context_window: null,
    max_output_tokens: null,
    ...fields,
  };
}

export class AgentRunRecord {
  readonly results: RunnerResult[] = [];
  readonly host: FakeRunHost;

  constructor(host: FakeRunHost) {
    this.host = host;
  }

  get deltas(): readonly DataOf<"message.delta">[] {
    return this.results.flatMap((result) => (result.type === "message.delta" ? [result.data] : []));
  }

  get messages(): readonly DataOf<"message.completed">[] {
    return this.results.flatMap((result) => (result.type === "message.completed" ? [result.data] : []));
  }

  get started(): readonly DataOf<"tool.call.started">[] {
    return this.results.flatMap((result) => (result.type === "tool.call.started" ? [result.data] : []));
  }

  get ended(): readonly DataOf<"tool.call.completed">[] {
    return this.results.flatMap((result) => (result.type === "tool.call.completed" ? [result.data] : []));
  }

  /** Lines of the run's trace. */
  get trace(): readonly DataOf<"warning">[] {
    return this.results.flatMap((result) => (result.type === "warning" ? [result.data] : []));
  }

  get types(): readonly string[] {
    return this.results.map(({ type }) => type);
  }

  get snapshots(): readonly string[] {
    return this.deltas.map(({ chunk }) => chunk.content);
  }

  get end(): RunnerResult {
    const end = this.results.at(-1);
    if (end === undefined) throw new Error("The run yielded nothing.");
    return end;
  }

  get completed(): ResultOf<"run.completed"> {
    if (this.end.type === "run.completed") return this.end;
    throw new Error(`The run ended otherwise: ${JSON.stringify(this.end)}`);
  }

  get failed(): ResultOf<"run.failed"> {
    if (this.end.type === "run.failed") return this.end;
    throw new Error(`The run did not fail: ${JSON.stringify(this.end)}`);
  }

  /** The final message. */
  get answer(): string {
    const content = this.messages[0]?.message.content;
    if (typeof content !== "string") throw new Error("The run gave no final message.");
    return content;
  }

  /** What the history keeps of this run, as the host writes it. */
  get stored(): readonly Message[] {
    return this.results.flatMap((result): Message[] => {
      if (result.type === "tool.call.started") return [result.data.assistant_message ?? []].flat();
      if (result.type === "message.completed") return [result.data.history_message ?? result.data.message];
      if (result.type !== "tool.call.completed") return [];
      return [
        { role: "tool", tool_call_id: result.data.tool_call_id, content: result.data.model_text ?? "" },
      ];
    });
  }

  /** The run's own messages of the given request: what follows the user's. */
  sentAfterUser(index: number): readonly Message[] {
    const messages = this.host.modelCalls[index]?.messages ?? [];
    return messages.slice(messages.findLastIndex(({ role }) => role === "user") + 1);
  }
}

export async function runAgent(setup: AgentSetup): Promise<AgentRunRecord> {
  const { record, run } = startAgent(setup);
  for await (const result of run) record.results.push(result);
  return record;
}

export function startAgent(setup: AgentSetup): {
  readonly record: AgentRunRecord;
  readonly run: AsyncIterable<RunnerResult>;
} {
  const host = new FakeRunHost(setup);
  const clock = setup.clock ?? new FakeClock();
  const runner = new LocalAgentRunner({ clock, ids: new CountingIds(), hooks: setup.hooks });
  const signal = setup.signal ?? new AbortController().signal;
  return {
    record: new AgentRunRecord(host),
    run: runner.run(contextOf(setup, host, clock), host, { signal }),
  };
}

export function contextOf(setup: AgentSetup, host: FakeRunHost, clock: FakeClock): RunContext {
  const modelIds = Object.keys(setup.models ?? {});
  const [primary = "", ...fallbacks] = modelIds;
  const streaming = setup.streaming ?? true;
  return {
    run_id: setup.runId ?? "run_1",
    trigger: { type: "message.received", source: "rest", timestamp: 1_700_000_000 },
    conversation: {
      session_id: "person_42",
      conversation_id: "person_42",
      thread_id: null,
      launcher_type: "person",
      launcher_id: "42",
      sender_id: "42",
      bot_id: null,
      workspace_id: "main",
    },
    event: {
      event_id: "host:1",
      event_type: "message.received",
      event_time: 1_700_000_000,
      source: "rest",
      source_event_type: null,
      data: {},
      ...setup.event,
    },
    actor: { actor_type: "user", id: "42", name: null },
    subject: { type: "message", id: "host:1", data: {} },
    input: setup.input ?? {
      text: setup.text === undefined ? "Hello" : setup.text,
      contents: [],
      attachments: [],
    },
    prompt: [],
    messages: [],
    params: {},
    delivery: {
      surface: "rest",
      reply_target: null,
      supports_streaming: streaming,
      supports_edit: false,
      supports_reaction: false,
      max_message_size: null,
      max_file_size: null,
      interactions: [],
      platform_capabilities: [],
    },
    resources: {
      models: setup.resources ?? modelIds.map((id) => aModel(id)),
      tools: host.toolResources,
      knowledge_bases: [],
      skills: [],
      storage: { plugin: false, workspace: false },
      platform_capabilities: [],
    },
    context: {
      conversation_id: "person_42",
      thread_id: null,
      latest_cursor: null,
      event_seq: null,
      transcript_seq: null,
      has_history_before: false,
      inline_policy: { mode: "current_event", delivered_count: 0, messages_complete: false, reason: "pull" },
      available_apis: { ...NO_APIS, history_page: true, ...setup.apis },
    },
    state: {},
    runtime: {
      host_version: "0.1.0",
      trace_id: "run_1",
      deadline_at: clock.now() / 1000 + (setup.deadlineSec ?? 600),
      metadata: {
        bot_id: null,
        workspace_id: "main",
        streaming_supported: true,
        model_context_window_tokens: null,
        model_max_output_tokens: null,
      },
    },
    config: { model: { primary, fallbacks, reasoning: {} }, ...setup.config },
    adapter: { extra: { params: {}, metadata: {} } },
  };
}

const NO_APIS: Readonly<Record<AvailableApi, boolean>> = {
  prompt_get: false,
  history_page: false,
  history_search: false,
  event_get: false,
  event_page: false,
  state: false,
  storage: false,
  steering_pull: false,
  run_get: false,
  run_list: false,
  run_events_page: false,
  run_cancel: false,
  ledger_write: false,
  box: false,
  box_export_paths: false,
};
