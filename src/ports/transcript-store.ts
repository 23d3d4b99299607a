/** Message history of conversations (runs §17). Contract: test/contracts/transcript-store.ts. */
import type { TranscriptItem } from "../domain/history.js";
import type { Message } from "../domain/message.js";

/** Rows of one conversation: tenant, bot, pipeline and thread are part of the key (runs §17.1). */
export interface NewTranscriptItem {
  readonly tenant: string;
  readonly conversation: string;
  readonly runId: string;
  readonly eventId: string | null;
  readonly message: Message;
  readonly partial: boolean;
  /** Unix milliseconds. */
  readonly createdAt: number;
  /** Of the claim under which it is written (ports/run-store.ts); none = it is the service's own. */
  readonly epoch?: number | undefined;
}

export interface TranscriptPageRequest {
  readonly direction: "backward" | "forward";
  /** Null = from the newest (backward) or the oldest (forward) item. */
  readonly from: number | null;
  readonly limit: number;
}

/** A conversation among all of them. */
export interface TranscriptPlace {
  readonly tenant: string;
  readonly conversation: string;
}

export interface TranscriptStore {
  /** @throws ServiceError `run.interrupted` when the run was claimed anew */
  append(item: NewTranscriptItem): Promise<TranscriptItem>;
  /** Up to `limit` items strictly before (backward, newest first) or after (forward, oldest first) a sequence. */
  page(
    tenant: string,
    conversation: string,
    request: TranscriptPageRequest,
  ): Promise<readonly TranscriptItem[]>;
  /**
   * Looks through `limit` conversations after a place and removes those in which nothing was said since (Unix
   * milliseconds), a bounded number of items at once.
   * @returns where to go on; null when all were looked through
   */
  removeSilent(
    silentSince: number,
    among: { readonly after: TranscriptPlace | null; readonly limit: number },
  ): Promise<TranscriptPlace | null>;
  /** Tool calls of a run without an answer, in order: closed with `interrupted` after a crash (local-agent §12.15). */
  unansweredCalls(runId: string): Promise<readonly { readonly id: string; readonly name: string }[]>;
}
