/**
 * Key-values of a scope (runs §16). Contract: test/contracts/state-store.ts.
 * - Places are kept apart by tenant and scope key, which are compared as they are.
 * - The last write of a key stands; first writes that come at the same time all succeed.
 */

export interface StatePlace {
  readonly tenant: string;
  /** Scope name and hash of its identities: opaque here. */
  readonly scopeKey: string;
}

export interface StateEntry {
  readonly key: string;
  /** JSON text. */
  readonly json: string;
}

export interface StateSize {
  readonly key: string;
  /** Bytes of the value as JSON. */
  readonly sizeBytes: number;
}

export interface StateStore {
  /** @returns null when there is no such key */
  get(place: StatePlace, key: string): Promise<string | null>;
  /** Entries of those keys that there are, sorted by key. */
  getAll(place: StatePlace, keys: readonly string[]): Promise<readonly StateEntry[]>;
  /** @param updatedAt Unix milliseconds */
  set(place: StatePlace, entry: StateEntry, updatedAt: number): Promise<void>;
  /** Sorted by key. @param prefix of the keys; empty = all */
  list(
    place: StatePlace,
    page: { readonly prefix: string; readonly limit: number },
  ): Promise<readonly StateSize[]>;
  /** @returns false when there was none */
  delete(place: StatePlace, key: string): Promise<boolean>;
}
