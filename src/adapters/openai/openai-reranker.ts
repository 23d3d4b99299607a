/** A rerank model behind `POST /rerank`, as local servers and hosted ones offer it beside their chat models. */
import { z } from "zod";
import { linkSignals } from "../../lib/link-signals.js";
import { TimeLimit } from "../../lib/time-limit.js";
import type { CallOptions } from "../../ports/options.js";
import type { RankedDocument, Reranker, RerankRequest } from "../../ports/reranker.js";
import { brokenAnswer, silenceFailure } from "./model-failures.js";
import { bodyOf, OpenAiClient } from "./openai-client.js";
import { bodyFailure, readJson } from "./read-answer.js";
import type { OpenAiModelSettings } from "./settings.js";

const scoreSchema = z.number();
const rankedSchema = z
  .looseObject({
    index: z.number().int(),
    relevance_score: scoreSchema.nullish(),
    /** Word of servers that answer with the list alone. */
    score: scoreSchema.nullish(),
  })
  .transform(({ index, relevance_score, score }) => ({ index, score: relevance_score ?? score ?? 0 }));
const answerSchema = z.union([
  z.looseObject({ results: z.array(rankedSchema) }).transform(({ results }) => results),
  z.looseObject({ data: z.array(rankedSchema) }).transform(({ data }) => data),
  z.array(rankedSchema),
]);

export class OpenAiReranker implements Reranker {
  readonly #settings: OpenAiModelSettings;
  readonly #client: OpenAiClient;

  constructor(settings: OpenAiModelSettings) {
    this.#settings = settings;
    this.#client = new OpenAiClient(settings);
  }

  /** The answer is sent at its end only, so both limits of silence together apply to it. */
  async rerank(request: RerankRequest, options: CallOptions): Promise<readonly RankedDocument[]> {
    const { firstChunkMs, idleMs, model, extraArgs } = this.#settings;
    const { query, documents, topN } = request;
    const limitMs = firstChunkMs + idleMs;
    using silence = new TimeLimit(() => silenceFailure(limitMs, "first_chunk"));
    using linked = linkSignals(options.signal, silence.signal);
    silence.restart(limitMs);
    const body = { ...extraArgs, model, query, documents, top_n: topN };
    try {
      const response = await this.#client.post("/rerank", { body, signal: linked.signal });
      return ranked(await readJson(bodyOf(response)));
    } catch (error) {
      linked.signal.throwIfAborted();
      throw bodyFailure(error);
    }
  }
}

function ranked(answer: unknown): readonly RankedDocument[] {
  const parsed = answerSchema.safeParse(answer);
  if (!parsed.success) throw brokenAnswer("it holds no list of ranked documents.");
  return parsed.data.toSorted((one, other) => other.score - one.score);
}
