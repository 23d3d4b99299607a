/** The box of a run's session, for tools that are listed before the run has bound it. */
import type { BoxService } from "../box/box-service.js";
import type { RunRecord } from "../ports/run-store.js";
import type { SessionBox } from "../ports/tool-source.js";

/** Null for a run without a session. A hold counts like a job: it keeps the box awake, and ends with the session. */
export function sessionBoxOf(
  boxes: Pick<BoxService, "getSession" | "lease">,
  { tenant, session }: Pick<RunRecord, "tenant" | "session">,
): SessionBox | null {
  if (session === null) return null;
  const { id } = session;
  return {
    sessionId: id,
    hold: async (options) => boxes.lease(await boxes.getSession(tenant, id), { ...options, kind: "job" }),
  };
}
