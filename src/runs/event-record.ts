/** The event record of a run: what asked for it, small enough to be read by runs to come (runs §7.1, §17). Pure. */
import { inputText } from "../domain/event.js";
import { prefixWithin } from "../lib/code-points.js";
import type { NewEventRecord } from "../ports/event-store.js";
import type { RunRecord } from "../ports/run-store.js";
import { conversationId } from "./conversation-key.js";
import { redactInlineText } from "./redact-inline.js";

/** Characters (runs §17.3). */
const MAX_SUMMARY = 1000;

/** @param createdAt Unix milliseconds */
export function eventRecordOf(run: RunRecord, createdAt: number): NewEventRecord {
  const { trigger, chat } = run;
  return {
    tenant: run.tenant,
    conversation: run.conversation,
    run_id: run.id,
    event_id: run.eventId,
    ...trigger,
    source: run.surface,
    summary: summaryOf(run),
    bot_id: chat?.bot_id ?? null,
    conversation_id: conversationId(run),
    thread_id: chat?.thread_id ?? null,
    created_at: createdAt,
  };
}

/** The text of the event; of one without text what its data say of it, else its type and what it is about. */
function summaryOf({ input, trigger, attachments }: RunRecord): string {
  const told = trigger.data["summary"];
  const text = inputText(input).trim() || (typeof told === "string" ? told : "");
  const files = attachments.map(({ name }) => `[${name}]`).join(" ");
  const whole = [redactInlineText(text), files].filter((part) => part !== "").join(" ");
  const { type, id } = trigger.subject;
  const about = id === null ? type : `${type} ${id}`;
  return cut(whole === "" ? `${trigger.event_type}: ${about}` : whole);
}

function cut(text: string): string {
  return prefixWithin(text, { chars: MAX_SUMMARY, bytes: Infinity });
}
