/** The variables a session template may use, from what is known of a run (box §2.1). */
import type { RunId } from "../domain/ids.js";

export interface TemplateFacts {
  /** The conversation, or the event's reply target where there is none. */
  readonly chat: {
    readonly launcher_type: string | null;
    readonly launcher_id: string | null;
    readonly sender_id: string | null;
    readonly conversation_id: string | null;
    readonly thread_id: string | null;
    readonly bot_id: string | null;
  };
  /** Who caused the event; stands in for a sender the conversation does not name. */
  readonly actorId: string | null;
  readonly runId: RunId;
  /** The host's own id of the query; null = the run id counts. */
  readonly queryId: string | null;
  readonly eventId: string;
  readonly eventType: string;
  /** The request's params after filtering (runs §13). */
  readonly params: Readonly<Record<string, unknown>>;
}

/**
 * Values by name. Host values win over params of the same name, also where they are null: a param must never stand in
 * for an identity the host does not know.
 */
export function buildTemplateVariables(facts: TemplateFacts): Readonly<Record<string, unknown>> {
  const { chat } = facts;
  return {
    ...facts.params,
    launcher_type: chat.launcher_type,
    launcher_id: chat.launcher_id,
    sender_id: chat.sender_id ?? facts.actorId,
    conversation_id: chat.conversation_id,
    thread_id: chat.thread_id,
    bot_id: chat.bot_id,
    run_id: facts.runId,
    query_id: facts.queryId ?? facts.runId,
    event_id: facts.eventId,
    event_type: facts.eventType,
  };
}
