/** Reads the body of an answer as bytes, within limits of time and size (local-agent §10.9, §11.5, §12.1–§12.5). */
import { ServiceError } from "../../domain/errors.js";
import { SseParser } from "../../lib/sse-parser.js";
import type { TimeLimit } from "../../lib/time-limit.js";
import type { ChatChunk } from "../../ports/chat-model.js";
import { JsonStream } from "./json-stream.js";
import { brokenAnswer, providerFailure } from "./model-failures.js";
import { type Decoded, decodeChunk } from "./wire.js";

/** Most bytes of one event, and of a whole answer that is not streamed. */
const MAX_BYTES = 32 * 1024 * 1024;
/** After the finish reason only usage may follow; a server that then says nothing has ended. */
const TRAILER_MS = 2000;
const DONE = "[DONE]";

export interface AnswerLimits {
  /** Counts only while bytes are waited for. */
  readonly silence: TimeLimit;
  readonly firstChunkMs: number;
  readonly idleMs: number;
  readonly apiKey: string | null;
}

/**
 * @param body Bytes as they arrive; it is freed when the reading ends.
 * @throws ServiceError `model.stream_failed` when it ends without a finish reason or `[DONE]`
 */
export async function* readChunks(
  body: AsyncIterable<Uint8Array>,
  limits: AnswerLimits,
): AsyncGenerator<ChatChunk, void> {
  const reader = new ChunkReader(limits.apiKey);
  const source = body[Symbol.asyncIterator]();
  try {
    while (!reader.isDone) {
      const bytes = await nextBytes(source, { limits, reader });
      if (bytes === null) break;
      yield* reader.push(bytes);
    }
    yield* reader.end();
  } finally {
    await source.return?.();
  }
}

/** @returns null at the end; a break after the finish reason is an end too */
async function nextBytes(
  source: AsyncIterator<Uint8Array>,
  { limits, reader }: { readonly limits: AnswerLimits; readonly reader: ChunkReader },
): Promise<Uint8Array | null> {
  const waitMs = reader.hasFinished ? Math.min(TRAILER_MS, limits.idleMs) : limits.idleMs;
  limits.silence.restart(reader.hasChunks ? waitMs : limits.firstChunkMs);
  try {
    const step = await source.next();
    return step.done === true ? null : step.value;
  } catch (error) {
    if (reader.hasFinished) return null;
    throw error;
  } finally {
    limits.silence.stop();
  }
}

class ChunkReader {
  readonly #apiKey: string | null;
  readonly #events = new SseParser(MAX_BYTES);
  readonly #values = new JsonStream();
  #isDone = false;
  #hasFinished = false;
  #hasChunks = false;

  constructor(apiKey: string | null) {
    this.#apiKey = apiKey;
  }

  /** `[DONE]` came: nothing else is read. */
  get isDone(): boolean {
    return this.#isDone;
  }

  get hasFinished(): boolean {
    return this.#hasFinished;
  }

  get hasChunks(): boolean {
    return this.#hasChunks;
  }

  *push(bytes: Uint8Array): Generator<ChatChunk, void> {
    yield* this.#take(this.#guard(() => this.#events.push(bytes)));
  }

  *end(): Generator<ChatChunk, void> {
    yield* this.#take(this.#guard(() => this.#events.end()));
    this.#guard(() => this.#values.end());
    if (!this.#isDone && !this.#hasFinished) throw brokenAnswer("it ended without a finish reason.");
  }

  *#take(messages: readonly { readonly data: string }[]): Generator<ChatChunk, void> {
    for (const { data } of messages) {
      if (this.#isDone) return;
      if (data.trim() === DONE) {
        this.#isDone = true;
        continue;
      }
      for (const value of this.#guard(() => this.#values.push(data))) yield this.#decode(value);
    }
  }

  #decode(value: unknown): ChatChunk {
    const chunk = valueOf(decodeChunk(value), this.#apiKey);
    this.#hasChunks = true;
    if (chunk.finishReason !== undefined) this.#hasFinished = true;
    return chunk;
  }

  /** What cannot be read is a failed reply, never a silent loss. */
  #guard<Value>(read: () => Value): Value {
    try {
      return read();
    } catch (error) {
      if (error instanceof SyntaxError || error instanceof RangeError)
        throw brokenAnswer(error.message, error);
      throw error;
    }
  }
}

/** @throws ServiceError for an error object, or for something that is no answer */
export function valueOf<Value>(decoded: Decoded<Value>, apiKey: string | null): Value {
  if (decoded.kind === "value") return decoded.value;
  if (decoded.kind === "error") throw providerFailure(decoded.error, apiKey);
  throw brokenAnswer("it is not an object of the chat-completions protocol.");
}

/** The whole body as JSON. @throws ServiceError `model.stream_failed` where it is none, or too large */
export async function readJson(body: AsyncIterable<Uint8Array>): Promise<unknown> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of body) {
    size += piece.length;
    if (size > MAX_BYTES) throw brokenAnswer(`it is larger than ${MAX_BYTES} bytes.`);
    pieces.push(piece);
  }
  try {
    return JSON.parse(
      Buffer.concat(pieces)
        .toString("utf8")
        .replace(/^\uFEFF/, ""),
    );
  } catch (error) {
    throw brokenAnswer("it is not JSON.", error);
  }
}

/** A failure of the connection while the body is read; our own failures stay what they are. */
export function bodyFailure(error: unknown): ServiceError {
  return error instanceof ServiceError ? error : brokenAnswer("the connection broke.", error);
}
