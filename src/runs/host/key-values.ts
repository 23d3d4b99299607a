/** `state_…` and `storage_…`: the place is authorised at every call, values are bounded JSON (runs §16.3). */
import { ServiceError } from "../../domain/errors.js";
import {
  canonicalStateKey,
  MAX_STATE_BYTES,
  MAX_STATE_KEY_CHARS,
  MAX_STATE_KEYS,
  type StateKeys,
} from "../../domain/state.js";
import { isPlainJson } from "../../lib/plain-json.js";
import type { Clock } from "../../ports/clock.js";
import type { KeyValueAccess, StateRef } from "../../ports/run-host.js";
import type { StatePlace, StateStore } from "../../ports/state-store.js";
import type { RunGate } from "./run-gate.js";

const MAX_DEPTH = 64;

export interface KeyValuesDeps {
  readonly gate: RunGate;
  readonly store: StateStore;
  readonly clock: Clock;
  /** @throws ServiceError `host.unauthorized`, `host.not_found`, `host.invalid_argument` for a scope that may not be used */
  readonly placeOf: (scope: string) => StatePlace;
}

export class KeyValues implements KeyValueAccess {
  readonly #deps: KeyValuesDeps;

  constructor(deps: KeyValuesDeps) {
    this.#deps = deps;
  }

  async get(ref: StateRef): Promise<unknown> {
    const json = await this.#deps.store.get(this.#place(ref.scope), checkKey(ref.key));
    return json === null ? null : JSON.parse(json);
  }

  async set({ scope, key, value }: StateRef & { readonly value: unknown }): Promise<void> {
    const place = this.#place(scope);
    const entry = { key: checkKey(key), json: writeValue(value) };
    await this.#deps.store.set(place, entry, this.#deps.clock.now());
  }

  async list(page: { readonly scope: string; readonly prefix?: string | undefined }): Promise<StateKeys> {
    const place = this.#place(page.scope);
    const prefix = checkText(page.prefix ?? "");
    const found = await this.#deps.store.list(place, { prefix, limit: MAX_STATE_KEYS + 1 });
    return {
      keys: found.slice(0, MAX_STATE_KEYS).map(({ key }) => key),
      has_more: found.length > MAX_STATE_KEYS,
    };
  }

  async delete(ref: StateRef): Promise<boolean> {
    return this.#deps.store.delete(this.#place(ref.scope), checkKey(ref.key));
  }

  #place(scope: string): StatePlace {
    this.#deps.gate.check();
    return this.#deps.placeOf(scope);
  }
}

function checkKey(key: string): string {
  if (key === "") throw new ServiceError("host.invalid_argument", "A key of state is not empty.");
  return canonicalStateKey(checkText(key));
}

/** A key, or what keys begin with: text that every database keeps as it is. */
function checkText(text: string): string {
  if (text.length > MAX_STATE_KEY_CHARS)
    throw new ServiceError(
      "host.invalid_argument",
      `A key of state has at most ${MAX_STATE_KEY_CHARS} characters; this one has ${text.length}.`,
    );
  if (!/[\0\p{Cs}]/u.test(text)) return text;
  throw new ServiceError("host.invalid_argument", "A key of state is valid text without NUL.");
}

function writeValue(value: unknown): string {
  const json = toJson(value);
  const sizeBytes = Buffer.byteLength(json);
  if (sizeBytes > MAX_STATE_BYTES)
    throw new ServiceError(
      "host.payload_too_large",
      `The value has ${sizeBytes} bytes of JSON; the limit is ${MAX_STATE_BYTES} bytes for each key.`,
      { hint: "Keep less, or spread it over several keys." },
    );
  if (isPlainJson(JSON.parse(json), MAX_DEPTH)) return json;
  throw new ServiceError(
    "host.invalid_argument",
    `The value is nested more deeply than the limit of ${MAX_DEPTH} levels.`,
  );
}

function toJson(value: unknown): string {
  try {
    const json: unknown = JSON.stringify(value);
    if (typeof json === "string") return json;
  } catch (error) {
    throw notJson(error);
  }
  throw notJson();
}

function notJson(cause?: unknown): ServiceError {
  return new ServiceError("host.invalid_argument", "The value is not JSON.", { cause });
}
