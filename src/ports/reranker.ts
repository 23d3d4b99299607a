/** A model that orders documents by how well they answer a query (runs §15.5). */
import type { CallOptions } from "./options.js";

export interface RerankRequest {
  readonly query: string;
  readonly documents: readonly string[];
  /** Results at most. */
  readonly topN: number;
}

export interface RankedDocument {
  /** Of the document in the request. */
  readonly index: number;
  readonly score: number;
}

export interface Reranker {
  /**
   * By falling relevance.
   * @throws ServiceError with a code `model.…` as a chat model does
   */
  rerank(request: RerankRequest, options: CallOptions): Promise<readonly RankedDocument[]>;
}
