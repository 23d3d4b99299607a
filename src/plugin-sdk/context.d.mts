/** What a runner is told of its run, and the words of chat messages. */

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
