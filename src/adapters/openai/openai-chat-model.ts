/** A model behind an OpenAI-compatible server; the wire is read by us, the client library sends (local-agent §12). */
import { linkSignals } from "../../lib/link-signals.js";
import { TimeLimit } from "../../lib/time-limit.js";
import type { ChatChunk, ChatModel, ChatReply, ChatRequest } from "../../ports/chat-model.js";
import type { CallOptions } from "../../ports/options.js";
import { silenceFailure } from "./model-failures.js";
import { bodyOf, OpenAiClient } from "./openai-client.js";
import { bodyFailure, readChunks, readJson, valueOf } from "./read-answer.js";
import { buildBody } from "./request-body.js";
import type { OpenAiModelSettings } from "./settings.js";
import { decodeReply } from "./wire.js";

export class OpenAiChatModel implements ChatModel {
  readonly #settings: OpenAiModelSettings;
  readonly #client: OpenAiClient;

  constructor(settings: OpenAiModelSettings) {
    this.#settings = settings;
    this.#client = new OpenAiClient(settings);
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
    return this.#client.post("/chat/completions", { body, signal });
  }
}

/** A server that does not stream answers a request for a stream with the whole reply. */
function isWholeAnswer(response: Response): boolean {
  return /^application\/json\b/i.test(response.headers.get("content-type") ?? "");
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
