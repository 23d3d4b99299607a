/** Keeps the full text of one reply and says when a snapshot of it is due (local-agent §11.2). Pure: time is an argument. */
import type { TurnUsage } from "../../domain/usage.js";
import type { CallPiece, ChatChunk } from "../../ports/chat-model.js";
import { type AssembledCall, CallAssembler } from "./assemble-calls.js";
import { ReplyText, type ReplyTextOptions } from "./reply-text.js";

/** One reply of a model, streamed or not. */
export interface Reply {
  /** As the model sent it, thinking and markup included. */
  readonly raw: string;
  /** Without thinking and without the markup of textual calls. */
  readonly answer: string;
  /** What the user sees. */
  readonly shown: string;
  readonly calls: readonly AssembledCall[];
  /** Unknown fields of the message (§12.18). */
  readonly extra: Readonly<Record<string, unknown>>;
  readonly finishReason: string | null;
  readonly usage: TurnUsage | null;
  readonly closedUnopenedThinking: boolean;
}

const CHUNKS_PER_SNAPSHOT = 8;
const MAX_UNSEEN_MS = 300;

export class ReplyAccumulator {
  readonly #text: ReplyText;
  readonly #calls = new CallAssembler();
  readonly #extra: Record<string, unknown> = {};
  #hasCallData = false;
  #chunks = 0;
  #seen = "";
  #unseenSinceMs: number | null = null;
  #finishReason: string | null = null;
  #usage: TurnUsage | null = null;

  constructor(options: ReplyTextOptions) {
    this.#text = new ReplyText(options);
  }

  push(chunk: ChatChunk, nowMs: number): void {
    this.#text.pushReasoning(chunk.reasoning ?? "");
    this.#text.push(chunk.text ?? "");
    this.#takeCalls(chunk.calls ?? []);
    if (chunk.extra !== undefined) mergeExtra(this.#extra, chunk.extra);
    this.#finishReason = chunk.finishReason ?? this.#finishReason;
    this.#usage = chunk.usage ?? this.#usage;
    if (this.hasOutput) this.#countChunk(chunk, nowMs);
  }

  /** Chunks before the first output do not count. */
  #countChunk({ text, reasoning }: ChatChunk, nowMs: number): void {
    this.#chunks += 1;
    if (text || reasoning) this.#unseenSinceMs ??= nowMs;
  }

  #takeCalls(pieces: readonly CallPiece[]): void {
    for (const piece of pieces) this.#calls.push(piece);
    this.#hasCallData ||= pieces.length > 0;
  }

  /** Text the user will see, or data of a call: what commits a candidate (§11.1). */
  get hasOutput(): boolean {
    return this.#hasCallData || this.#text.isVisible;
  }

  get hasVisibleText(): boolean {
    return this.#text.isVisible;
  }

  get usage(): TurnUsage | null {
    return this.#usage;
  }

  /** Milliseconds until unseen text is due; null without any. */
  dueInMs(nowMs: number): number | null {
    if (this.#unseenSinceMs === null) return null;
    const isEighth = this.#chunks % CHUNKS_PER_SNAPSHOT === 0;
    return isEighth ? 0 : Math.max(0, this.#unseenSinceMs + MAX_UNSEEN_MS - nowMs);
  }

  /** @returns the text of a snapshot, or null when the user sees that already */
  takeSnapshot(): string | null {
    this.#unseenSinceMs = null;
    const { shown } = this.#text;
    if (shown === this.#seen || !this.#text.isVisible) return null;
    this.#seen = shown;
    return shown;
  }

  /** Ends the reply; textual calls count only without structured ones (§11.9). */
  end(): Reply {
    this.#text.end();
    const structured = this.#calls.calls;
    return {
      raw: this.#text.raw,
      answer: this.#text.answer,
      shown: this.#text.shown,
      calls: structured.length > 0 ? structured : this.#text.calls,
      extra: this.#extra,
      finishReason: this.#finishReason,
      usage: this.#usage,
      closedUnopenedThinking: this.#text.closedUnopenedThinking,
    };
  }
}

/** Stands where a model gave nothing that could be used. */
export const NO_REPLY: Reply = {
  raw: "",
  answer: "",
  shown: "",
  calls: [],
  extra: {},
  finishReason: null,
  usage: null,
  closedUnopenedThinking: false,
};

/** Neither text nor calls: never a success (§10.7). Thinking is no text. */
export function isEmptyReply(reply: Reply): boolean {
  return reply.calls.length === 0 && reply.answer.trim() === "";
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

/** Fields come in pieces like the text does: texts and lists grow, everything else is replaced. */
function mergeExtra(extra: Record<string, unknown>, piece: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(piece)) {
    const known = extra[name];
    if (typeof known === "string" && typeof value === "string") extra[name] = known + value;
    else if (isList(known) && isList(value)) extra[name] = [...known, ...value];
    else extra[name] = value;
  }
}
