/** A model behind an OpenAI-compatible server; the wire is read by us, the client library sends (local-agent §12). */
import OpenAI, { APIConnectionError } from "openai";
import { linkSignals } from "../../lib/link-signals.js";
import { TimeLimit } from "../../lib/time-limit.js";
import type { ChatChunk, ChatModel, ChatReply, ChatRequest } from "../../ports/chat-model.js";
import type { CallOptions } from "../../ports/options.js";
import { connectionFailure, RefusedAnswer, refusalFailure, silenceFailure } from "./model-failures.js";
import { bodyFailure, readChunks, readJson, valueOf } from "./read-answer.js";
import { buildBody } from "./request-body.js";
import type { OpenAiModelSettings } from "./settings.js";
import { decodeReply } from "./wire.js";

/** The library's own limit only has to be longer than ours. */
const LIBRARY_TIMEOUT_MS = 24 * 3600 * 1000;
/** Of a refusal's body. */
const MAX_REFUSAL_CHARS = 16_384;

export class OpenAiChatModel implements ChatModel {
  readonly #settings: OpenAiModelSettings;
  readonly #client: OpenAI;

  constructor(settings: OpenAiModelSettings) {
    this.#settings = settings;
    const hasKey = settings.apiKey !== null && settings.apiKey !== "";
    this.#client = new OpenAI({
      baseURL: settings.baseUrl,
      apiKey: hasKey ? settings.apiKey : "none",
      // Everything that the library would otherwise read from the environment.
      adminAPIKey: null,
      organization: null,
      project: null,
      webhookSecret: null,
      ...(hasKey ? {} : { defaultHeaders: { Authorization: null } }),
      maxRetries: 0,
      timeout: LIBRARY_TIMEOUT_MS,
      logLevel: "off",
      fetch: fetchOrRefuse,
    });
  }

  /** A whole answer is sent at its end only, so both limits of silence together apply to it. */
  async complete(request: ChatRequest, options: CallOptions): Promise<ChatReply> {
    const { firstChunkMs, idleMs, apiKey } = this.#settings;
    const limitMs = firstChunkMs + idleMs;
    using silence = new TimeLimit(() => silenceFailure(limitMs, "first_chunk"));
    using linked = linkSignals(options.signal, silence.signal);
    silence.restart(limitMs);
    try {
      const response = await this.#post(request, { isStream: false, signal: linked.signal });
      return valueOf(decodeReply(await readJson(bodyOf(response))), apiKey);
    } catch (error) {
      linked.signal.throwIfAborted();
      throw bodyFailure(error);
    }
  }

  async *stream(request: ChatRequest, options: CallOptions): AsyncGenerator<ChatChunk, void> {
    const { firstChunkMs, idleMs, apiKey } = this.#settings;
    let hasChunks = false;
    using silence = new TimeLimit(() =>
      hasChunks ? silenceFailure(idleMs, "idle") : silenceFailure(firstChunkMs, "first_chunk"),
    );
    const left = new AbortController();
    using linked = linkSignals(options.signal, silence.signal, left.signal);
    silence.restart(firstChunkMs);
    try {
      const response = await this.#post(request, { isStream: true, signal: linked.signal });
      if (isWholeAnswer(response)) {
        yield toChunk(valueOf(decodeReply(await readJson(bodyOf(response))), apiKey));
        return;
      }
      for await (const chunk of readChunks(bodyOf(response), { silence, firstChunkMs, idleMs, apiKey })) {
        hasChunks = true;
        yield chunk;
      }
    } catch (error) {
      linked.signal.throwIfAborted();
      throw bodyFailure(error);
    } finally {
      // Closes the connection of an answer that is not read to its end.
      left.abort();
    }
  }

  async #post(
    request: ChatRequest,
    { isStream, signal }: { readonly isStream: boolean; readonly signal: AbortSignal },
  ): Promise<Response> {
    const body = buildBody(request, this.#settings, { isStream });
    try {
      return await this.#client.post("/chat/completions", { body, signal }).asResponse();
    } catch (error) {
      signal.throwIfAborted();
      const cause = error instanceof APIConnectionError ? error.cause : error;
      if (cause instanceof RefusedAnswer) throw refusalFailure(cause, this.#settings.apiKey);
      throw connectionFailure(cause);
    }
  }
}

/** The library keeps only one shape of refusals; others would lose their text, so it never sees any. */
async function fetchOrRefuse(url: string | URL | Request, init?: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  if (response.ok) return response;
  const text = await response.text();
  throw new RefusedAnswer(response.status, text.slice(0, MAX_REFUSAL_CHARS));
}

/** A server that does not stream answers a request for a stream with the whole reply. */
function isWholeAnswer(response: Response): boolean {
  return /^application\/json\b/i.test(response.headers.get("content-type") ?? "");
}

async function* bodyOf(response: Response): AsyncGenerator<Uint8Array, void> {
  if (response.body !== null) yield* response.body;
}

function toChunk(reply: ChatReply): ChatChunk {
  return {
    text: reply.text ?? undefined,
    reasoning: reply.reasoning ?? undefined,
    calls: reply.calls.map((call, index) => ({ ...call, index })),
    extra: reply.extra,
    finishReason: reply.finishReason ?? "stop",
    usage: reply.usage ?? undefined,
  };
}
