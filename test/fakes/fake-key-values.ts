/** State or storage of a run for runner tests: every scope is open unless it is refused. */
import { ServiceError } from "../../src/domain/errors.js";
import type { StateKeys } from "../../src/domain/state.js";
import type { KeyValueAccess, StateRef } from "../../src/ports/run-host.js";

export class FakeKeyValues implements KeyValueAccess {
  /** Scope → key → value. */
  readonly values = new Map<string, Map<string, unknown>>();
  readonly #refused: readonly string[];

  constructor(refused: readonly string[] = []) {
    this.#refused = refused;
  }

  async get({ scope, key }: StateRef): Promise<unknown> {
    return this.#at(scope).get(key) ?? null;
  }

  async set({ scope, key, value }: StateRef & { readonly value: unknown }): Promise<void> {
    this.#at(scope).set(key, structuredClone(value));
  }

  async list({
    scope,
    prefix = "",
  }: {
    readonly scope: string;
    readonly prefix?: string;
  }): Promise<StateKeys> {
    const keys = [...this.#at(scope).keys()].filter((key) => key.startsWith(prefix));
    return { keys: keys.toSorted(), has_more: false };
  }

  async delete({ scope, key }: StateRef): Promise<boolean> {
    return this.#at(scope).delete(key);
  }

  #at(scope: string): Map<string, unknown> {
    if (this.#refused.includes(scope))
      throw new ServiceError("host.unauthorized", `This run is not authorized for the scope "${scope}".`);
    const values = this.values.get(scope) ?? new Map<string, unknown>();
    this.values.set(scope, values);
    return values;
  }
}
