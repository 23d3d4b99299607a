/** The bytes of an answer: plain, whole and within the limit, or an error. */
import type { IncomingMessage } from "node:http";
import { ServiceError } from "../../domain/errors.js";
import type { OutboundFile } from "../../ports/outbound-fetch.js";
import { readMimeType, readName } from "./answer-facts.js";
import type { FetchLife } from "./fetch-life.js";

export interface Answer {
  readonly response: IncomingMessage;
  /** Of the last hop. */
  readonly url: URL;
  readonly maxBytes: number;
  /** Ends with this object. */
  readonly life: FetchLife;
}

export class OutboundBody implements OutboundFile {
  readonly name: string | null;
  readonly mimeType: string | null;
  readonly bytes: AsyncIterable<Uint8Array>;
  readonly #answer: Answer;

  /** @throws ServiceError `outbound.failed`, `box.too_large` for an answer whose head says already that it is no use */
  constructor(answer: Answer) {
    const { headers } = answer.response;
    checkHead(answer);
    this.#answer = answer;
    this.name = readName(headers, answer.url);
    this.mimeType = readMimeType(headers);
    this.bytes = readBytes(answer);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#answer.response.destroy();
    this.#answer.life[Symbol.dispose]();
  }
}

function checkHead({ response, maxBytes }: Answer): void {
  const fault = findHeadFault(response, maxBytes);
  if (fault === null) return;
  response.destroy();
  throw fault;
}

function findHeadFault({ statusCode = 0, headers }: IncomingMessage, maxBytes: number): ServiceError | null {
  if (statusCode < 200 || statusCode > 299)
    return new ServiceError("outbound.failed", `The server answered ${statusCode}.`, {
      retryable: statusCode >= 500 || statusCode === 429,
      details: { status: statusCode },
    });
  const encoding = headers["content-encoding"] ?? "identity";
  if (encoding.trim().toLowerCase() !== "identity")
    return new ServiceError("outbound.failed", "The server sent a compressed answer, which is not taken.", {
      retryable: false,
    });
  const length = Number(headers["content-length"] ?? 0);
  return length > maxBytes ? tooLarge(`It has ${length} bytes`, maxBytes) : null;
}

function tooLarge(what: string, maxBytes: number): ServiceError {
  return new ServiceError("box.too_large", `${what}; the limit is ${maxBytes} bytes per file.`, {
    details: { limit: maxBytes },
  });
}

async function* readBytes({ response, maxBytes, life }: Answer): AsyncIterable<Uint8Array> {
  let count = 0;
  try {
    life.expectBytes();
    for await (const bytes of response) {
      if (!(bytes instanceof Uint8Array)) throw new TypeError("The answer gave no bytes.");
      count += bytes.byteLength;
      if (count > maxBytes) throw tooLarge(`It has more than ${maxBytes} bytes`, maxBytes);
      life.pause();
      yield bytes;
      life.expectBytes();
    }
    if (!response.complete) throw new Error("The answer was cut off.");
  } catch (error) {
    throw life.explain(error);
  } finally {
    life.pause();
    response.destroy();
  }
}
