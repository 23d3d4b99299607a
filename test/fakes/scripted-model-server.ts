/**
 * A chat-completions server that follows a script, over real HTTP: every request is kept, every quirk is bytes.
 * Usable in tests and, through `startScriptedModelServer`, by whatever starts a whole service.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { findRequestFaults } from "./strict-provider.js";

export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: WireRequest;
  /** Resolves when the client has closed the connection before the answer's end. */
  readonly closed: Promise<void>;
}

export interface WireRequest {
  readonly [field: string]: unknown;
  readonly model?: string;
  readonly stream?: boolean;
  readonly messages?: readonly WireMessage[];
  readonly tools?: readonly unknown[];
}

export interface WireMessage {
  readonly [field: string]: unknown;
  readonly role: string;
  readonly content?: unknown;
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly WireCall[];
}

export interface WireCall {
  readonly [field: string]: unknown;
  readonly index?: number;
  readonly id?: string | null;
  readonly function?: {
    readonly [field: string]: unknown;
    readonly name?: string | null;
    readonly arguments?: unknown;
  };
}

/** Writes one answer. The server ends the response if the step has not. */
export type ServerStep = (request: ReceivedRequest, response: ServerResponse) => void | Promise<void>;

export interface ScriptedServerOptions {
  /** Refuse with 400 what a real provider of this kind refuses. Counts as no step. */
  readonly isStrict?: boolean;
}

export class ScriptedModelServer implements AsyncDisposable {
  readonly requests: ReceivedRequest[] = [];
  /** Faults that the strict variant has found, one sentence each. */
  readonly faults: string[] = [];
  readonly #server: Server;
  readonly #steps: ServerStep[];
  readonly #options: ScriptedServerOptions;
  #unexpected = 0;

  constructor(steps: readonly ServerStep[], options: ScriptedServerOptions = {}) {
    this.#steps = [...steps];
    this.#options = options;
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => {
      this.#server.listen(0, "127.0.0.1", resolve);
    });
    return this;
  }

  /** Up to and with `/v1`. */
  get baseUrl(): string {
    const address = this.#server.address();
    if (!isPort(address)) throw new Error("The server does not listen.");
    return `http://127.0.0.1:${address.port}/v1`;
  }

  /** Adds steps while the server runs. */
  enqueue(...steps: readonly ServerStep[]): void {
    this.#steps.push(...steps);
  }

  /** The body of the given request, of the last one if none is given. */
  body(index = this.requests.length - 1): WireRequest {
    const request = this.requests[index];
    if (request === undefined) throw new Error(`The server got ${this.requests.length} requests only.`);
    return request.body;
  }

  assertFinished(): void {
    if (this.#unexpected > 0) throw new Error(`${this.#unexpected} requests came that no step expects.`);
    if (this.#steps.length > 0) throw new Error(`${this.#steps.length} steps of the script were not used.`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
  }

  async #answer(message: IncomingMessage, response: ServerResponse): Promise<void> {
    message.setEncoding("utf8");
    const pieces: string[] = [];
    for await (const piece of message) pieces.push(String(piece));
    const request: ReceivedRequest = {
      method: message.method ?? "",
      path: message.url ?? "",
      headers: message.headers,
      body: readBody(pieces.join("")),
      closed: new Promise((resolve) => {
        response.once("close", () => {
          if (!response.writableFinished) resolve();
        });
      }),
    };
    this.requests.push(request);
    const faults = this.#options.isStrict === true ? findRequestFaults(request.body) : [];
    this.faults.push(...faults);
    await (faults.length > 0 ? refuse(400, { message: faults.join(" ") }) : this.#takeStep())(
      request,
      response,
    );
    if (!response.writableEnded && !response.destroyed) response.end();
  }

  #takeStep(): ServerStep {
    const step = this.#steps.shift();
    if (step !== undefined) return step;
    this.#unexpected += 1;
    return refuse(500, { message: "The script has no step for this request." });
  }
}

export async function startScriptedModelServer(
  steps: readonly ServerStep[],
  options: ScriptedServerOptions = {},
): Promise<ScriptedModelServer> {
  return new ScriptedModelServer(steps, options).listen();
}

export interface WireReply {
  readonly content?: string | null;
  readonly calls?: readonly WireCall[];
  /** Other fields of the message, in a stream on its first piece. */
  readonly extra?: Readonly<Record<string, unknown>>;
  readonly finishReason?: string | null;
  readonly usage?: Readonly<Record<string, number>>;
}

/** An ordinary reply, in whatever mode it was asked for: text in three pieces, each call whole. */
export function reply(facts: WireReply): ServerStep {
  return (request, response) => {
    if (request.body.stream !== true) return json(200, toCompletion(facts))(request, response);
    return streamOf(...toChunks(facts))(request, response);
  };
}

/** A stream of these chunk objects, then `[DONE]`. */
export function streamOf(...chunks: readonly unknown[]): ServerStep {
  return bytes([...chunks.map((value) => `data: ${JSON.stringify(value)}\n\n`), "data: [DONE]\n\n"]);
}

/** Exactly these bytes as an event stream, each piece on its own; then the end, or a connection that is reset. */
export function bytes(
  pieces: readonly (string | Uint8Array)[],
  { ending = "close" }: { readonly ending?: "close" | "reset" | "hang" } = {},
): ServerStep {
  return async (request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.socket?.setNoDelay(true);
    for (const piece of pieces) {
      response.write(piece);
      await new Promise(setImmediate);
    }
    if (ending === "reset") response.destroy();
    if (ending === "hang") await request.closed;
  };
}

/** A JSON answer with this status. */
export function json(status: number, body: unknown): ServerStep {
  return (_request, response) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  };
}

/** A refusal in the usual envelope. */
export function refuse(
  status: number,
  error: { readonly message: string; readonly code?: string; readonly type?: string },
): ServerStep {
  return json(status, { error: { type: "invalid_request_error", code: null, param: null, ...error } });
}

/** Never answers; ends when the client leaves. */
export function hang(): ServerStep {
  return async (request) => request.closed;
}

/** Closes the connection before any answer. */
export function drop(): ServerStep {
  return (_request, response) => {
    response.destroy();
  };
}

/** A chunk object of one choice. */
export function chunk(delta: Readonly<Record<string, unknown>>, finishReason: string | null = null): unknown {
  return {
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta, finish_reason: finishReason }],
  };
}

export function toChunks({ content, calls, extra, finishReason, usage }: WireReply): readonly unknown[] {
  const letters = Array.from(content ?? "");
  const third = Math.max(1, Math.ceil(letters.length / 3));
  const texts = [0, 1, 2].map((i) => letters.slice(i * third, (i + 1) * third).join("")).filter(Boolean);
  const usual = calls === undefined ? "stop" : "tool_calls";
  return [
    chunk({ role: "assistant", content: "", ...extra }),
    ...texts.map((text) => chunk({ content: text })),
    ...(calls ?? []).map((call, index) => chunk({ tool_calls: [{ index, type: "function", ...call }] })),
    chunk({}, finishReason === undefined ? usual : finishReason),
    ...(usage === undefined ? [] : [{ choices: [], usage }]),
  ];
}

function toCompletion({ content, calls, extra, finishReason, usage }: WireReply): unknown {
  const usual = calls === undefined ? "stop" : "tool_calls";
  return {
    id: "chatcmpl-1",
    object: "chat.completion",
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: content ?? null,
          ...extra,
          ...(calls === undefined
            ? {}
            : { tool_calls: calls.map((call) => ({ type: "function", ...call })) }),
        },
        finish_reason: finishReason === undefined ? usual : finishReason,
      },
    ],
    usage: usage ?? null,
  };
}

function readBody(text: string): WireRequest {
  const body: unknown = text === "" ? {} : JSON.parse(text);
  return isRequest(body) ? body : {};
}

function isRequest(body: unknown): body is WireRequest {
  return typeof body === "object" && body !== null && !Array.isArray(body);
}

function isPort(address: string | AddressInfo | null): address is AddressInfo {
  return typeof address === "object" && address !== null;
}
