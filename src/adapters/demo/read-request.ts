/** What the demo model reads out of a request: the last user message and what was done for it since. Pure. */
import { z } from "zod";
import { type Message, messageText, type ToolCall } from "../../domain/message.js";

export interface Attachment {
  readonly path: string;
}

/** A call that was answered. */
export interface DoneCall {
  readonly name: string;
  /** Text of the tool message. */
  readonly answer: string;
}

/** The calls of one reply, in order. */
export type DoneTurn = readonly DoneCall[];

export interface DemoTask {
  /** The user's text, notes of the host included. */
  readonly text: string;
  readonly attachments: readonly Attachment[];
  /** Directory for results; null where the message does not name one. */
  readonly outbox: string | null;
  readonly turns: readonly DoneTurn[];
}

const NOTE_START = '{"type":"input_attachments"';

const noteSchema = z.object({ attachments: z.array(z.object({ path: z.string().nullish() })) });

export function readTask(messages: readonly Message[]): DemoTask {
  const index = messages.findLastIndex(({ role }) => role === "user");
  const text = index === -1 ? "" : textOf(messages[index]);
  return {
    text,
    attachments: text
      .split("\n")
      .filter((line) => line.startsWith(NOTE_START))
      .flatMap(readNote),
    outbox: text.match(/\/workspace\/outbox\/run_[A-Za-z0-9_-]+/g)?.at(-1) ?? null,
    turns: readTurns(messages.slice(index + 1)),
  };
}

/** Parts stand on lines of their own, so that a note never continues a line of the user's. */
function textOf(message: Message | undefined): string {
  if (message === undefined) return "";
  if (!Array.isArray(message.content)) return messageText(message);
  return message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n\n");
}

function readNote(line: string): readonly Attachment[] {
  const note = parseJson(line, noteSchema);
  // A note that was cut hard is no JSON; whole paths in it still count.
  if (note === null)
    return [...line.matchAll(/"path":"(\/workspace\/[^"\\]+)"/g)].map(([, path = ""]) => ({ path }));
  return note.attachments.flatMap(({ path }) => (typeof path === "string" ? [{ path }] : []));
}

function readTurns(messages: readonly Message[]): readonly DoneTurn[] {
  const turns: DoneTurn[] = [];
  for (const [i, message] of messages.entries()) {
    const calls = message.role === "assistant" ? (message.tool_calls ?? []) : [];
    if (calls.length > 0) turns.push(readTurn(calls, messages.slice(i + 1)));
  }
  return turns;
}

/** Answers belong to calls by id, and by place where ids repeat. */
function readTurn(calls: readonly ToolCall[], following: readonly Message[]): DoneTurn {
  const end = following.findIndex(({ role }) => role !== "tool");
  const answers = end === -1 ? following : following.slice(0, end);
  return calls.map((call, i) => {
    const answer =
      answers[i]?.tool_call_id === call.id
        ? answers[i]
        : answers.find((other) => other.tool_call_id === call.id);
    return { name: call.function.name, answer: textOf(answer) };
  });
}

/** @returns null for what is no JSON or has another shape */
export function parseJson<Schema extends z.ZodType>(text: string, schema: Schema): z.output<Schema> | null {
  try {
    const parsed = schema.safeParse(JSON.parse(text));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}
