/** The configured keys: known by their sha256 only, compared in constant time (api §1.3, security §10). */
import { createHash, timingSafeEqual } from "node:crypto";
import { MAIN_TENANT } from "../domain/ids.js";
import type { Caller } from "../runs/run-request.js";

export interface RingKey {
  readonly key: string;
  readonly tenant: string;
  readonly role: Caller["role"];
}

/** Who answers for all requests while no key is configured (api §1.3). Whoever sets BERTH_API_KEY later keeps all there is. */
export const KEYLESS_CALLER: Caller = { tenant: MAIN_TENANT, role: "admin" };

export class KeyRing {
  readonly #entries: readonly { readonly hash: Buffer; readonly caller: Caller }[];

  constructor(keys: readonly RingKey[]) {
    this.#entries = keys.map(({ key, tenant, role }) => ({ hash: sha256(key), caller: { tenant, role } }));
  }

  get isEmpty(): boolean {
    return this.#entries.length === 0;
  }

  /** Every known key is compared, whichever fits. @returns null for a key that is not known */
  find(key: string): Caller | null {
    const given = sha256(key);
    let found: Caller | null = null;
    for (const { hash, caller } of this.#entries) if (timingSafeEqual(hash, given)) found = caller;
    return found;
  }
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
