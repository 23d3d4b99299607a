/** Types of `berth/plugin-sdk`. Wire names keep the spelling of the protocol. */
import type { Message, RunContext, Usage } from "./context.mjs";
import type { Host, ToolOutcome } from "./host.mjs";

export type { Message, MessagePart, RunContext, ToolCall, ToolDefinition, Usage } from "./context.mjs";
export type {
  CallOptions,
  HistoryPage,
  HistoryRequest,
  Host,
  ModelCall,
  ModelChunk,
  ModelReply,
  StateEntry,
  StateScope,
  ToolOutcome,
} from "./host.mjs";

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
