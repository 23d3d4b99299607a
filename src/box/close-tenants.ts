/** Containers of tenants without a valid grant are closed, in use or not; workspaces are kept (box §16.3). */
import { toServiceError } from "../domain/errors.js";
import { POOL_TENANT, type SessionRecord } from "../domain/session.js";
import type { CallOptions } from "../ports/options.js";
import type { RestDeps } from "./rest-box.js";
import type { TenantGrants } from "./tenant-grants.js";

/** Looks at every container anew, so that one that was made meanwhile goes with the next round. */
export async function closeUngranted(
  deps: RestDeps,
  grants: Pick<TenantGrants, "findFault">,
  options: CallOptions,
): Promise<void> {
  for (const session of await deps.sessions.listAll()) {
    if (session.container === null || session.tenant === POOL_TENANT) continue;
    const fault = await grants.findFault(session.tenant);
    if (fault === null) continue;
    try {
      await closeBox(deps, session, options);
      deps.logger.info({ sessionId: session.id, reason: fault }, "A box was closed.");
    } catch (error) {
      options.signal.throwIfAborted();
      const fields = { sessionId: session.id, code: toServiceError(error).code };
      deps.logger.warn(fields, "A box of a tenant without a grant could not be closed.", error);
    }
  }
}

async function closeBox(
  deps: RestDeps,
  { id, tenant }: Pick<SessionRecord, "id" | "tenant">,
  options: CallOptions,
): Promise<void> {
  using _turn = await deps.locks.acquire(id, options);
  const container = (await deps.sessions.get(tenant, id))?.container ?? null;
  if (container === null) return;
  await deps.backend.removeContainer(container, options);
  await deps.sessions.update(id, { container: null });
  deps.boxes.forget(id);
}
