/** File records in memory: a double for tests that keeps the promises of the port. */
import type { DeliveryState, FileRecord } from "../../domain/delivery.js";
import type { FileId, RunId } from "../../domain/ids.js";
import type { FilePage, FileStore } from "../../ports/file-store.js";

export class MemoryFileStore implements FileStore {
  readonly #deps: { readonly runs: { refersTo(sha256: string): boolean } };
  /** In order of registration. */
  readonly #files = new Map<FileId, FileRecord>();

  constructor(deps: { readonly runs: { refersTo(sha256: string): boolean } }) {
    this.#deps = deps;
  }

  async register(records: readonly FileRecord[]): Promise<void> {
    const ids = new Set(records.map(({ id }) => id));
    const taken = records.find(({ id }) => this.#files.has(id));
    if (taken !== undefined || ids.size < records.length)
      throw new Error("There is a file of that id already.");
    for (const record of records) this.#files.set(record.id, record);
  }

  async get(tenant: string, id: FileId): Promise<FileRecord | null> {
    const record = this.#files.get(id);
    return record?.tenant === tenant ? record : null;
  }

  async listByRun(tenant: string, runId: RunId): Promise<readonly FileRecord[]> {
    return [...this.#files.values()].filter((record) => record.tenant === tenant && record.runId === runId);
  }

  async list(tenant: string, page: FilePage): Promise<readonly FileRecord[]> {
    const newestFirst = [...this.#files.values()].filter((record) => record.tenant === tenant).toReversed();
    const start =
      page.after === undefined ? 0 : newestFirst.findIndex(({ id }) => id === page.after) + 1 || Infinity;
    return newestFirst
      .slice(start)
      .filter(({ purpose }) => page.purpose === undefined || purpose === page.purpose)
      .slice(0, page.limit);
  }

  async setState(id: FileId, state: DeliveryState, from?: DeliveryState): Promise<void> {
    const record = this.#files.get(id);
    if (record === undefined || (from !== undefined && record.state !== from)) return;
    this.#files.set(id, { ...record, state });
  }

  async remove(tenant: string, id: FileId): Promise<boolean> {
    return (await this.get(tenant, id)) !== null && this.#files.delete(id);
  }

  async isReferenced(sha256: string): Promise<boolean> {
    const files = [...this.#files.values()];
    return files.some((record) => record.sha256 === sha256) || this.#deps.runs.refersTo(sha256);
  }

  async listOlderThan(createdBefore: number, limit: number): Promise<readonly FileRecord[]> {
    return [...this.#files.values()].filter(({ createdAt }) => createdAt < createdBefore).slice(0, limit);
  }
}
