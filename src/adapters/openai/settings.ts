/** What one OpenAI-compatible model needs to be called (api §8). */

export interface OpenAiModelSettings {
  /** Up to and with `/v1`. */
  readonly baseUrl: string;
  /** Null or empty where the server wants none: no authorization header is sent. */
  readonly apiKey: string | null;
  /** The server's own name of the model. */
  readonly model: string;
  /** Fields added to every request as they stand. */
  readonly extraArgs: Readonly<Record<string, unknown>>;
  readonly abilities: readonly ("func_call" | "vision" | "reasoning")[];
  readonly maxOutputTokens: number | null;
  /** Longest silence before the first chunk, in milliseconds (local-agent §10.9). */
  readonly firstChunkMs: number;
  /** Longest silence between chunks, in milliseconds. */
  readonly idleMs: number;
}
