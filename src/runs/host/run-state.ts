/** State and storage of one run: which places it may use, and what its context shows of them (runs §16). */
import { ServiceError } from "../../domain/errors.js";
import type { StorageResource } from "../../domain/resources.js";
import { STATE_SCOPES, type StateScope, stateScopeSchema, storageAreaSchema } from "../../domain/state.js";
import type { StatePlace } from "../../ports/state-store.js";
import { type StateIdentity, statePlace, storagePlace } from "../state-places.js";
import { KeyValues, type KeyValuesDeps } from "./key-values.js";
import { readSnapshot, type StateSnapshot } from "./state-snapshot.js";

export interface RunStateOf {
  readonly identity: StateIdentity;
  readonly scopes: readonly StateScope[];
  readonly storage: StorageResource;
  /** `author/plugin` of the runner. */
  readonly packageId: string;
}

export class RunState {
  readonly #deps: Omit<KeyValuesDeps, "placeOf">;
  readonly #of: RunStateOf;
  readonly state: KeyValues;
  readonly storage: KeyValues;

  constructor(deps: Omit<KeyValuesDeps, "placeOf">, of: RunStateOf) {
    this.#deps = deps;
    this.#of = of;
    this.state = new KeyValues({ ...deps, placeOf: (scope) => this.#statePlace(scope) });
    this.storage = new KeyValues({ ...deps, placeOf: (area) => this.#storagePlace(area) });
  }

  /** The permitted scopes that this run has the identities for. */
  async snapshot(): Promise<StateSnapshot> {
    const { identity, scopes } = this.#of;
    const places = scopes.flatMap((scope) => {
      const place = statePlace(identity, scope);
      return place === null ? [] : [{ scope, place }];
    });
    return readSnapshot(this.#deps.store, places);
  }

  #statePlace(given: string): StatePlace {
    const scope = stateScopeSchema.safeParse(given);
    if (!scope.success) throw unknownScope(given, STATE_SCOPES);
    const { identity, scopes } = this.#of;
    if (!scopes.includes(scope.data)) throw this.#deps.gate.refuse(`the state scope "${scope.data}"`);
    const place = statePlace(identity, scope.data);
    if (place !== null) return place;
    throw new ServiceError(
      "host.not_found",
      `The state scope "${scope.data}" is unavailable: this run has no ${scope.data}.`,
      { hint: "Look which scopes the context's state shows, or use the scope runner." },
    );
  }

  #storagePlace(given: string): StatePlace {
    const area = storageAreaSchema.safeParse(given);
    if (!area.success) throw unknownScope(given, storageAreaSchema.options);
    const { identity, storage, packageId } = this.#of;
    if (!storage[area.data]) throw this.#deps.gate.refuse(`the storage "${area.data}"`);
    return storagePlace(identity.tenant, area.data, packageId);
  }
}

function unknownScope(given: string, known: readonly string[]): ServiceError {
  return new ServiceError("host.invalid_argument", `There is no scope "${given.slice(0, 100)}".`, {
    hint: `Use one of: ${known.join(", ")}.`,
  });
}
