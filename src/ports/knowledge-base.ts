/** A collection of documents that answers a question with passages (runs §15.5). */
import type { CallOptions } from "./options.js";

export interface KnowledgeQuery {
  readonly text: string;
  /** Passages at most, at least one. */
  readonly topK: number;
  /** As the runner gave them. */
  readonly filters: Readonly<Record<string, unknown>>;
  /** For whom it is asked; added by the host. */
  readonly asker: {
    readonly tenant: string;
    readonly bot: string | null;
    readonly sender: string | null;
    /** `launcher_type_launcher_id`; null without a chat. */
    readonly sessionName: string | null;
  };
}

export interface KnowledgeChunk {
  readonly content: string;
  /** Higher = closer; null where the collection gives none. */
  readonly score: number | null;
  readonly metadata: Readonly<Record<string, unknown>>;
}

export interface KnowledgeBase {
  /** Closest first. */
  retrieve(query: KnowledgeQuery, options: CallOptions): Promise<readonly KnowledgeChunk[]>;
}
