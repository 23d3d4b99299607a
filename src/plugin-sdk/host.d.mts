/** What a runner may ask of the service during its run. */
import type { Message, ToolDefinition, Usage } from "./context.mjs";

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
