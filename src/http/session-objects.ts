/** Sessions in the shape clients see (api §4). */
import type { z } from "zod";
import type { SessionDetail, SessionView } from "../runs/session-service.js";
import type { sessionSchema, sessionSummarySchema } from "./schemas/session-bodies.js";

export function toSessionSummary({ session, box }: SessionView): z.infer<typeof sessionSummarySchema> {
  const { session_id: _id, key, created_at, last_used_at, ...rest } = box;
  return { id: session.id, object: "session", key, created_at, last_used_at, box: rest };
}

export function toSession(detail: SessionDetail): z.infer<typeof sessionSchema> {
  return {
    ...toSessionSummary(detail),
    chats: detail.chats.map(({ launcherType, launcherId, lastRunAt }) => ({
      launcher_type: launcherType,
      launcher_id: launcherId,
      last_run_at: new Date(lastRunAt).toISOString(),
    })),
    active_runs: [...detail.activeRuns],
  };
}
