/** Types of `berth/plugin-sdk`. Wire names keep the spelling of the protocol. */

export interface Message {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: string | readonly MessagePart[] | null;
  readonly tool_calls?: readonly ToolCall[];
  readonly tool_call_id?: string;
  readonly name?: string;
}

export type MessagePart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image_url"; readonly image_url: { readonly url: string } };

export interface ToolCall {
  readonly id: string;
  readonly type: "function";
  readonly function: { readonly name: string; readonly arguments: string };
}

export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  /** JSON schema. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

export interface Usage {
  readonly prompt_tokens?: number;
  readonly completion_tokens?: number;
  readonly total_tokens?: number;
}

/** The parts of the run's context that most runners read; the rest is there as well. It is a copy: change what you like. */
export interface RunContext {
  readonly run_id: string;
  readonly trigger: { readonly type: string; readonly source: string; readonly timestamp: number };
  readonly conversation: {
    readonly session_id: string;
    readonly conversation_id: string;
    readonly thread_id: string | null;
    readonly launcher_type: string;
    readonly launcher_id: string;
    readonly sender_id: string | null;
    readonly bot_id: string | null;
    readonly workspace_id: string;
  } | null;
  readonly event: {
    readonly event_id: string;
    readonly event_type: string;
    readonly event_time: number;
    readonly source: string;
    readonly data: Readonly<Record<string, unknown>>;
  };
  readonly actor: { readonly actor_type: string; readonly id: string | null; readonly name: string | null };
  readonly subject: {
    readonly type: string;
    readonly id: string | null;
    readonly data: Readonly<Record<string, unknown>>;
  };
  readonly input: {
    readonly text: string | null;
    readonly contents: readonly (
      | { readonly type: "text"; readonly text: string }
      | { readonly type: "attachment"; readonly reference: string }
    )[];
    readonly attachments: readonly {
      readonly reference: string;
      readonly type: "image" | "voice" | "file";
      readonly name: string | null;
      readonly mime_type: string | null;
      readonly size: number | null;
    }[];
  };
  readonly params: Readonly<Record<string, unknown>>;
  readonly resources: {
    readonly models: readonly { readonly model_id: string; readonly operations: readonly string[] }[];
    readonly tools: readonly { readonly tool_name: string; readonly description: string }[];
    readonly knowledge_bases: readonly {
      readonly kb_id: string;
      readonly name: string;
      readonly operations: readonly string[];
    }[];
    readonly skills: readonly {
      readonly skill_name: string;
      readonly display_name: string;
      readonly description: string;
    }[];
    readonly storage: { readonly plugin: boolean; readonly workspace: boolean };
  };
  /** Scope → key → value: what the run finds at its start. */
  readonly state: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly runtime: {
    readonly host_version: string;
    readonly trace_id: string;
    /** Unix seconds. */
    readonly deadline_at: number;
  };
  /** The pipeline's config for this runner. */
  readonly config: Readonly<Record<string, unknown>>;
}

/** One item of what a runner yields. `run_id` is filled in. */
export type Result = (
  | {
      readonly type: "message.delta";
      readonly data: {
        readonly chunk: {
          readonly role: "assistant";
          /** The whole text so far. */
          readonly content: string;
          readonly is_final?: boolean;
          readonly msg_sequence?: number;
        };
      };
    }
  | {
      readonly type: "message.completed";
      readonly data: { readonly message: Message; readonly file_ids?: readonly string[] };
    }
  | {
      readonly type: "tool.call.started";
      readonly data: {
        readonly tool_call_id: string;
        readonly tool_name: string;
        readonly parameters: Readonly<Record<string, unknown>>;
        readonly assistant_message?: Message;
      };
    }
  | {
      readonly type: "tool.call.completed";
      readonly data: {
        readonly tool_call_id: string;
        readonly tool_name: string;
        readonly result?: unknown;
        readonly error?: string;
        readonly model_text?: string;
      };
    }
  | {
      readonly type: "state.updated";
      readonly data: { readonly scope: string; readonly key: string; readonly value: unknown };
    }
  | {
      readonly type: "run.completed";
      readonly data: {
        readonly message?: Message;
        readonly finish_reason?: "stop" | "terminate" | "max_iterations" | "loop";
      };
    }
  | {
      readonly type: "run.failed";
      readonly data: { readonly error: string; readonly code: string; readonly retryable: boolean };
    }
  | { readonly type: "action.requested"; readonly data: Readonly<Record<string, unknown>> }
) & { readonly sequence?: number; readonly timestamp?: string; readonly usage?: Usage };

export interface ModelCall {
  readonly model_id: string;
  readonly messages: readonly Message[];
  readonly tools?: readonly ToolDefinition[];
  readonly max_output_tokens?: number;
  readonly remove_think?: boolean;
}

export interface ModelReply {
  /** Goes back into the next call's `messages` as it is. */
  readonly message: Message;
  readonly reasoning: string | null;
  readonly finish_reason: string | null;
  readonly usage: Usage | null;
}

/** One piece of a streamed reply, as the model's server sent it. */
export interface ModelChunk {
  readonly text?: string;
  readonly reasoning?: string;
  readonly calls?: readonly {
    readonly index?: number;
    readonly id?: string;
    readonly name?: string;
    readonly arguments?: string | Readonly<Record<string, unknown>>;
  }[];
  readonly finish_reason?: string;
  readonly usage?: Usage;
}

export type ToolOutcome =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly error: string; readonly result?: unknown };

export interface HistoryRequest {
  readonly direction?: "backward" | "forward";
  readonly cursor?: string;
  readonly limit?: number;
  readonly content_chars?: number;
}

export interface HistoryPage {
  readonly items: readonly {
    readonly message: Message;
    readonly partial: boolean;
    readonly created_at: number;
  }[];
  readonly next_cursor: string | null;
  readonly prev_cursor: string | null;
  readonly has_more: boolean;
}

export interface StateEntry {
  readonly scope: StateScope;
  readonly key: string;
}

export type StateScope = "conversation" | "actor" | "subject" | "runner";

export interface CallOptions {
  /** Gives the call up; the run's own end always does. */
  readonly signal?: AbortSignal;
}

/**
 * What a runner may ask of the service during its run. Every call is checked against what the pipeline grants; a
 * refusal or failure rejects with a `HostError`.
 */
export interface Host {
  invokeModel(call: ModelCall, options?: CallOptions): Promise<ModelReply>;
  streamModel(call: ModelCall, options?: CallOptions): AsyncIterable<ModelChunk>;
  getToolDetail(
    toolName: string,
    options?: CallOptions,
  ): Promise<{ readonly description: string; readonly parameters: Readonly<Record<string, unknown>> }>;
  /** A tool that fails is an outcome with `ok: false`; only refusals reject. */
  callTool(
    call: {
      /** Made up when it is left out. */
      readonly tool_call_id?: string;
      readonly tool_name: string;
      readonly parameters?: Readonly<Record<string, unknown>>;
    },
    options?: CallOptions,
  ): Promise<ToolOutcome>;
  getPrompt(options?: CallOptions): Promise<readonly Message[]>;
  historyPage(request?: HistoryRequest, options?: CallOptions): Promise<HistoryPage>;
  /** The text is matched literally. */
  historySearch(
    request: {
      readonly text: string;
      readonly cursor?: string;
      readonly limit?: number;
      readonly content_chars?: number;
    },
    options?: CallOptions,
  ): Promise<HistoryPage>;
  /** Messages that arrived while the run goes on, for runners with the capability `steering`: theirs to answer. */
  pullSteering(
    request?: { readonly mode?: "all" | "one-at-a-time"; readonly after?: Message },
    options?: CallOptions,
  ): Promise<readonly { readonly id: string; readonly text: string; readonly created_at: number }[]>;
  retrieveKnowledge(
    request: {
      readonly kb_id: string;
      readonly query: string;
      readonly top_k?: number;
      readonly filters?: Readonly<Record<string, unknown>>;
    },
    options?: CallOptions,
  ): Promise<
    readonly {
      readonly content: string;
      readonly score: number | null;
      readonly metadata: Readonly<Record<string, unknown>>;
    }[]
  >;
  /** At most 64 documents; by falling relevance. */
  rerank(
    request: {
      readonly model_id: string;
      readonly query: string;
      readonly documents: readonly string[];
      readonly top_n?: number;
    },
    options?: CallOptions,
  ): Promise<readonly { readonly index: number; readonly score: number }[]>;
  /** Fetches what a service produced and delivers it with the run. */
  captureFile(
    file: { readonly url: string; readonly kind?: string; readonly name?: string },
    options?: CallOptions,
  ): Promise<{ readonly file_id: string }>;
  /** Null where nothing is stored. */
  getState(entry: StateEntry, options?: CallOptions): Promise<unknown>;
  setState(entry: StateEntry & { readonly value: unknown }, options?: CallOptions): Promise<unknown>;
  /** Ties the run to its box, in which the box tools then work. */
  bindBox(options?: CallOptions): Promise<{
    readonly session_id: string;
    readonly inbox: string;
    readonly outbox: string;
    readonly notes: readonly string[];
  }>;
  /** Puts the attachments of the message into the inbox of the bound box. */
  importAttachments(options?: CallOptions): Promise<
    readonly {
      readonly reference: string;
      readonly name: string;
      readonly path: string | null;
      readonly state: "pending" | "imported" | "refused";
      readonly reason: string | null;
    }[]
  >;
  /** Any action of the host by its name; the guide lists them. */
  call(action: string, payload?: Readonly<Record<string, unknown>>, options?: CallOptions): Promise<unknown>;
}

export interface RunOptions {
  /** Aborts when the run is cancelled, has no time left, or the service stops. */
  readonly signal: AbortSignal;
}

export type RunnerFunction = (context: RunContext, host: Host, options: RunOptions) => AsyncIterable<Result>;

export type ToolFunction = (parameters: Readonly<Record<string, unknown>>, options: RunOptions) => unknown;

export interface PluginEvent {
  readonly event_type: string;
  readonly tenant: string;
  readonly pipeline: string;
  readonly chat: Readonly<Record<string, unknown>> | null;
  readonly text: string | null;
  readonly data: Readonly<Record<string, unknown>>;
}

/** What a listener may answer before a run; nothing, or null, is no intervention. */
export interface EventAnswer {
  /** No runner is asked: the reply is the answer, or nothing is. */
  readonly prevent_default?: boolean;
  readonly reply?: string | null;
  /** Takes the place of what the user said. */
  readonly user_message_alter?: unknown;
}

type MaybeLater<Value> = Value | Promise<Value>;

export interface PluginDefinition {
  /** By `metadata.name` of their manifests. */
  readonly runners?: Readonly<Record<string, RunnerFunction>>;
  /** What one returns is the tool's result; what it throws is its failure. */
  readonly tools?: Readonly<Record<string, ToolFunction>>;
  /** Hears of the events that the manifest lists, before a runner does. Nothing returned: no intervention. */
  readonly onEvent?: (event: PluginEvent, options: RunOptions) => MaybeLater<EventAnswer | null | undefined>;
}

export declare class HostError extends Error {
  constructor(facts: {
    readonly code: string;
    readonly message: string;
    readonly retryable: boolean;
    readonly details?: Readonly<Record<string, unknown>>;
  });
  readonly code: string;
  readonly retryable: boolean;
  readonly details: Readonly<Record<string, unknown>>;
}

export declare function definePlugin<const Definition extends PluginDefinition>(
  definition: Definition,
): Definition;
/** @param text the whole text so far */
export declare function delta(text: string): Result;
export declare function reply(text: string, fileIds?: readonly string[]): Result;
export declare function toolStarted(call: {
  readonly tool_call_id: string;
  readonly tool_name: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}): Result;
/** @param outcome as `host.callTool` gave it */
export declare function toolCompleted(
  call: { readonly tool_call_id: string; readonly tool_name: string },
  outcome: ToolOutcome,
): Result;
export declare function completed(finishReason?: "stop" | "terminate" | "max_iterations" | "loop"): Result;
export declare function failed(
  error: string,
  facts?: { readonly code?: string; readonly retryable?: boolean },
): Result;
