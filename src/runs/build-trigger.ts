/** What a run answers to, made from an event as a surface received it (runs §11). Pure. */
import {
  type Actor,
  type Chat,
  type EventType,
  messageTrigger,
  type Subject,
  type Trigger,
} from "../domain/event.js";
import { redactInlineValue } from "./redact-inline.js";
import type { GivenEvent } from "./run-request.js";

/** Times above this are milliseconds or finer. */
const MAX_SECONDS = 1e10;
/** Bytes of a text in the data of an event. */
const MAX_TEXT_BYTES = 512;

export interface TriggerFacts {
  /** Stands for a message that has no id of its own. */
  readonly id: string;
  readonly chat: Chat | null;
  /** Unix milliseconds. */
  readonly createdAt: number;
}

/** @param event null for a message that came as one */
export function buildTrigger(event: GivenEvent | null, facts: TriggerFacts): Trigger {
  if (event === null) return messageTrigger(facts);
  return {
    event_type: event.type,
    event_time: event.time === null ? facts.createdAt / 1000 : toSeconds(event.time),
    source_event_type: event.sourceType,
    actor: actorOf(event, facts.chat),
    subject: subjectOf(event, facts),
    data: filterEventData(event.data),
  };
}

/** Milliseconds, microseconds and nanoseconds become seconds (runs §11.4). */
export function toSeconds(time: number): number {
  let seconds = time;
  while (seconds > MAX_SECONDS) seconds /= 1000;
  return seconds;
}

/** Keeps numbers, booleans and short texts; what platforms add for themselves is dropped (runs §11.5). */
export function filterEventData(data: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(data).filter(([name, value]) => !name.startsWith("_") && isSmall(value)),
  );
}

function isSmall(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value === "string") return Buffer.byteLength(value) <= MAX_TEXT_BYTES;
  return typeof value === "boolean";
}

const SYSTEM: Actor = { actor_type: "system", id: null, name: null };

/** The table of runs §11. Who took a message back need not be who wrote it, so the chat's sender does not stand in there. */
function actorOf({ type, actor }: GivenEvent, chat: Chat | null): Actor {
  if (actor !== null) return actor;
  if (type === "message.recalled" || chat === null || chat.sender_id === null) return SYSTEM;
  return { actor_type: "user", id: chat.sender_id, name: chat.sender_name };
}

const SUBJECT_TYPES: Readonly<Record<EventType, string>> = {
  "message.received": "message",
  "message.recalled": "message",
  "group.member_joined": "group",
  "friend.request_received": "friend_request",
  "interaction.submitted": "interaction",
};

/** Its data are kept, all but inline content (runs §17.4). */
function subjectOf({ type, subject }: GivenEvent, { id, chat }: TriggerFacts): Subject {
  const data = redactInlineValue(subject?.data ?? {});
  return {
    type: subject?.type ?? SUBJECT_TYPES[type],
    id: subject?.id ?? standInId(type, { id, chat }),
    data: isRecord(data) ? data : {},
  };
}

function standInId(type: EventType, { id, chat }: Pick<TriggerFacts, "id" | "chat">): string | null {
  if (type === "message.received") return id;
  return type === "group.member_joined" ? (chat?.launcher_id ?? null) : null;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
