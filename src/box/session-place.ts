/** Where the box of a session is on its engine. */
import type { SessionRecord } from "../domain/session.js";
import type { BoxPlace } from "../ports/box-backend.js";

/** A session whose container has a name. */
export type NamedSession = SessionRecord & { readonly container: string };

export function placeOf({ id, tenant, uid, volume, container }: NamedSession): BoxPlace {
  return { sessionId: id, tenant, uid, volume, container };
}
