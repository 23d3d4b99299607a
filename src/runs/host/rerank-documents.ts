/** `rerank`: authorised by model and operation, at most 64 documents (runs §15.5). */
import { ServiceError } from "../../domain/errors.js";
import type { ModelResource } from "../../domain/resources.js";
import type { CallOptions } from "../../ports/options.js";
import type { RankedDocument, Reranker } from "../../ports/reranker.js";
import type { RerankCall } from "../../ports/run-host.js";
import type { RunGate } from "./run-gate.js";

const MAX_DOCUMENTS = 64;

export interface RerankDeps {
  readonly gate: RunGate;
  readonly resources: readonly ModelResource[];
  readonly rerankers: ReadonlyMap<string, Reranker>;
}

/**
 * What a server answers is not believed: an index that no document has, or that came before, is left out.
 * @throws ServiceError `host.unauthorized`, `host.invalid_argument`, `model.…`
 */
export async function rerankDocuments(
  { gate, resources, rerankers }: RerankDeps,
  call: RerankCall,
  options: CallOptions,
): Promise<readonly RankedDocument[]> {
  gate.check();
  const resource = resources.find(({ model_id }) => model_id === call.modelId);
  const reranker = rerankers.get(call.modelId);
  if (reranker === undefined || resource?.operations.includes("rerank") !== true)
    throw gate.refuse(`rerank of the model "${call.modelId.slice(0, 100)}"`);
  const { query, documents } = call;
  const topN = call.topN ?? documents.length;
  if (documents.length === 0) return [];
  checkCounts(documents.length, topN);
  using linked = gate.link(options);
  const ranked = await reranker.rerank({ query, documents, topN }, linked);
  return ordered(ranked, documents.length).slice(0, topN);
}

function checkCounts(documents: number, topN: number): void {
  if (documents > MAX_DOCUMENTS)
    throw new ServiceError(
      "host.invalid_argument",
      `At most ${MAX_DOCUMENTS} documents can be ordered at once; there are ${documents}.`,
      { hint: "Pass the first ones only." },
    );
  if (Number.isSafeInteger(topN) && topN >= 1) return;
  throw new ServiceError("host.invalid_argument", `top_n is a whole number of at least 1; it is ${topN}.`);
}

function ordered(ranked: readonly RankedDocument[], documents: number): readonly RankedDocument[] {
  const seen = new Set<number>();
  return ranked
    .toSorted((one, other) => other.score - one.score)
    .filter(({ index }) => {
      const isNew = Number.isSafeInteger(index) && index >= 0 && index < documents && !seen.has(index);
      seen.add(index);
      return isNew;
    });
}
