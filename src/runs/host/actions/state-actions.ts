/** `state_get` and its kin, and the same for storage: both are keys and values behind one interface (runs §16). */
import { z } from "zod";
import { MAX_STATE_KEY_CHARS } from "../../../domain/state.js";
import type { KeyValueAccess, RunHost } from "../../../ports/run-host.js";
import { type HostActionTable, one } from "./define-action.js";

const scope = z.string().max(100);
const ref = z.strictObject({ scope, key: z.string().max(MAX_STATE_KEY_CHARS) });

export const STATE_ACTIONS: HostActionTable = {
  ...keyValueActions("state", (host) => host.state),
  ...keyValueActions("storage", (host) => host.storage),
};

function keyValueActions(prefix: string, of: (host: RunHost) => KeyValueAccess): HostActionTable {
  return {
    [`${prefix}_get`]: one(ref, async (host, asked, options) => of(host).get(asked, options)),
    [`${prefix}_set`]: one(ref.extend({ value: z.unknown() }), async (host, entry, options) => {
      await of(host).set(entry, options);
      return null;
    }),
    [`${prefix}_list`]: one(
      z.strictObject({ scope, prefix: z.string().max(MAX_STATE_KEY_CHARS).optional() }),
      async (host, page, options) => of(host).list(page, options),
    ),
    [`${prefix}_delete`]: one(ref, async (host, asked, options) => ({
      deleted: await of(host).delete(asked, options),
    })),
  };
}
