/** The client library, held to what we decide: nothing of the environment, no retries, refusals as they came. */
import OpenAI, { APIConnectionError } from "openai";
import { connectionFailure, RefusedAnswer, refusalFailure } from "./model-failures.js";

/** The library's own limit only has to be longer than ours. */
const LIBRARY_TIMEOUT_MS = 24 * 3600 * 1000;
/** Of a refusal's body. */
const MAX_REFUSAL_CHARS = 16_384;

export interface ServerAddress {
  /** Up to and with `/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string | null;
}

export class OpenAiClient {
  readonly #apiKey: string | null;
  readonly #client: OpenAI;

  constructor({ baseUrl, apiKey }: ServerAddress) {
    this.#apiKey = apiKey;
    const hasKey = apiKey !== null && apiKey !== "";
    this.#client = new OpenAI({
      baseURL: baseUrl,
      apiKey: hasKey ? apiKey : "none",
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

  /**
   * Returns as soon as the head of a successful answer is there.
   * @throws ServiceError `model.…` for a refusal and for a server that cannot be reached; the signal's reason
   */
  async post(
    path: string,
    { body, signal }: { readonly body: object; readonly signal: AbortSignal },
  ): Promise<Response> {
    try {
      return await this.#client.post(path, { body, signal }).asResponse();
    } catch (error) {
      signal.throwIfAborted();
      const cause = error instanceof APIConnectionError ? error.cause : error;
      if (cause instanceof RefusedAnswer) throw refusalFailure(cause, this.#apiKey);
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

export async function* bodyOf(response: Response): AsyncGenerator<Uint8Array, void> {
  if (response.body !== null) yield* response.body;
}
