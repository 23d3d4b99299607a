/** Records of files: deliveries of runs and uploads (box §9, api §3). Bytes are the blob store's. Contract: test/contracts/file-store.ts. */
import type { DeliveryState, FileRecord } from "../domain/delivery.js";
import type { FileId, RunId } from "../domain/ids.js";

export interface FilePage {
  readonly limit: number;
  /** Id of the last record of the page before. */
  readonly after?: FileId | undefined;
  readonly purpose?: string | undefined;
}

export interface FileStore {
  /** Registers all or none in one transaction (box §8.2). Unchanged bytes of a source path are delivered once per run: the caller refuses a second time. */
  register(records: readonly FileRecord[]): Promise<void>;
  get(tenant: string, id: FileId): Promise<FileRecord | null>;
  /** Deliveries of a run in order of export. */
  listByRun(tenant: string, runId: RunId): Promise<readonly FileRecord[]>;
  /** Newest first. */
  list(tenant: string, page: FilePage): Promise<readonly FileRecord[]>;
  /** @param from changes the state only if it is this one */
  setState(id: FileId, state: DeliveryState, from?: DeliveryState): Promise<void>;
  /** @returns false when there was none */
  remove(tenant: string, id: FileId): Promise<boolean>;
  /** Whether any record still needs these bytes: a file, or an attachment of a stored run. */
  isReferenced(sha256: string): Promise<boolean>;
  /** Records older than the retention, oldest first (box §9.7). */
  listOlderThan(createdBefore: number, limit: number): Promise<readonly FileRecord[]>;
}
