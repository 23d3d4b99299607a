/** File ids that a runner puts into its messages: each is of this run, and none is used twice (runs §18.8). */
import type { FileId } from "../domain/ids.js";
import type { FileStore } from "../ports/file-store.js";
import type { RunRecord } from "../ports/run-store.js";

export class ClaimedFiles {
  readonly #files: FileStore;
  readonly #run: RunRecord;
  readonly #claimed = new Set<FileId>();

  constructor(files: FileStore, run: RunRecord) {
    this.#files = files;
    this.#run = run;
  }

  /** @returns false when one of them may not be used; then none is claimed */
  async claim(ids: readonly FileId[]): Promise<boolean> {
    if (ids.length === 0) return true;
    const { tenant, id: runId } = this.#run;
    const known = new Set((await this.#files.listByRun(tenant, runId)).map(({ id }) => id));
    const given = new Set(ids);
    const mayUse = given.size === ids.length && ids.every((id) => known.has(id) && !this.#claimed.has(id));
    if (mayUse) for (const id of given) this.#claimed.add(id);
    return mayUse;
  }
}
