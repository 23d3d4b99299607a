/** Who the state of a run belongs to, read from its record (runs §16.1). */
import type { Chat } from "../domain/event.js";
import type { RunRecord } from "../ports/run-store.js";
import { conversationParts, stretchOf } from "./conversation-key.js";
import type { StateIdentity } from "./state-places.js";

export function stateIdentity(run: RunRecord): StateIdentity {
  const { tenant, runner, pipeline: binding, chat, trigger } = run;
  return {
    tenant,
    runner,
    binding,
    bot: chat?.bot_id ?? null,
    conversation: chat && { id: conversationOf(run, chat), thread: chat.thread_id },
    actor: identified(trigger.actor.actor_type, trigger.actor.id),
    subject: identified(trigger.subject.type, trigger.subject.id),
  };
}

/** A conversation that began after silence begins with no state. */
function conversationOf({ conversation, params }: RunRecord, chat: Chat): string | readonly string[] {
  const parts = conversationParts(chat, params);
  const stretch = stretchOf(conversation);
  return stretch === null ? parts : [...[parts].flat(), "after", stretch];
}

function identified(type: string, id: string | null): { readonly type: string; readonly id: string } | null {
  return id === null || id === "" ? null : { type, id };
}
