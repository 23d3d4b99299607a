/** Who the state of a run belongs to, read from its record (runs §16.1). */
import type { RunRecord } from "../ports/run-store.js";
import { conversationParts } from "./conversation-key.js";
import type { StateIdentity } from "./state-places.js";

export function stateIdentity(run: RunRecord): StateIdentity {
  const { tenant, runner, pipeline: binding, chat, params, trigger } = run;
  return {
    tenant,
    runner,
    binding,
    bot: chat?.bot_id ?? null,
    conversation: chat && { id: conversationParts(chat, params), thread: chat.thread_id },
    actor: identified(trigger.actor.actor_type, trigger.actor.id),
    subject: identified(trigger.subject.type, trigger.subject.id),
  };
}

function identified(type: string, id: string | null): { readonly type: string; readonly id: string } | null {
  return id === null || id === "" ? null : { type, id };
}
