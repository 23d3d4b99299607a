/** Key-values of scopes in memory: a double for tests that keeps the promises of the port. */
import type { StateEntry, StatePlace, StateSize, StateStore } from "../../ports/state-store.js";

export class MemoryStateStore implements StateStore {
  readonly #places = new Map<string, Map<string, string>>();

  async get(place: StatePlace, key: string): Promise<string | null> {
    return this.#at(place).get(key) ?? null;
  }

  async getAll(place: StatePlace, keys: readonly string[]): Promise<readonly StateEntry[]> {
    return this.#sorted(place).filter(({ key }) => keys.includes(key));
  }

  async set(place: StatePlace, { key, json }: StateEntry): Promise<void> {
    this.#at(place).set(key, json);
  }

  async list(
    place: StatePlace,
    { prefix, limit }: { readonly prefix: string; readonly limit: number },
  ): Promise<readonly StateSize[]> {
    return this.#sorted(place)
      .filter(({ key }) => key.startsWith(prefix))
      .slice(0, limit)
      .map(({ key, json }) => ({ key, sizeBytes: Buffer.byteLength(json) }));
  }

  async delete(place: StatePlace, key: string): Promise<boolean> {
    return this.#at(place).delete(key);
  }

  #sorted(place: StatePlace): readonly StateEntry[] {
    const entries = [...this.#at(place)].map(([key, json]) => ({ key, json }));
    return entries.toSorted((one, other) => Buffer.compare(Buffer.from(one.key), Buffer.from(other.key)));
  }

  #at({ tenant, scopeKey }: StatePlace): Map<string, string> {
    const name = JSON.stringify([tenant, scopeKey]);
    const place = this.#places.get(name) ?? new Map<string, string>();
    this.#places.set(name, place);
    return place;
  }
}
