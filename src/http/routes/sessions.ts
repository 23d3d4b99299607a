/** Look at sessions, end them, give up their containers (api §4). */
import { ServiceError } from "../../domain/errors.js";
import { type SessionId, sessionIdSchema } from "../../domain/ids.js";
import type { SessionService } from "../../runs/session-service.js";
import type { JsonReader } from "../read-json.js";
import { type Exchange, implement, pathParameter, type Route } from "../route.js";
import { emptyBodySchema } from "../schemas/run-bodies.js";
import { deleteSession, getSession, listSessions, stopSession } from "../session-contracts.js";
import { toSession, toSessionSummary } from "../session-objects.js";

export interface SessionRoutesDeps {
  readonly sessions: SessionService;
  readonly json: JsonReader;
}

export function sessionRoutes({ sessions, json }: SessionRoutesDeps): readonly Route[] {
  return [
    implement(listSessions, async ({ caller, query, response, signal }) => {
      const after = query.after === undefined ? undefined : readCursor(query.after);
      const page = await sessions.list(caller, { limit: query.limit, after }, { signal });
      const last = page.sessions.at(-1);
      response.json({
        object: "list",
        data: page.sessions.map(toSessionSummary),
        has_more: page.hasMore,
        next_cursor: page.hasMore && last !== undefined ? last.session.id : null,
      });
    }),
    implement(getSession, async (exchange) => {
      const { caller, response, signal } = exchange;
      response.json(toSession(await sessions.get(caller, readSessionId(exchange), { signal })));
    }),
    implement(deleteSession, async (exchange) => {
      const { caller, query, response, signal } = exchange;
      const id = readSessionId(exchange);
      await sessions.remove(caller, id, { signal, force: query.force === "true" });
      response.json({ id, object: "session", deleted: true });
    }),
    implement(stopSession, async (exchange) => {
      const { caller, response, signal } = exchange;
      await json.readAs(emptyBodySchema, exchange);
      response.json(toSession(await sessions.stop(caller, readSessionId(exchange), { signal })));
    }),
  ];
}

/** A text that is no id of ours is one that is not known. */
export function readSessionId({ request }: Pick<Exchange, "request">): SessionId {
  const text = pathParameter(request, "id");
  const id = sessionIdSchema.safeParse(text);
  if (id.success) return id.data;
  throw new ServiceError("session.not_found", `There is no session "${text.slice(0, 100)}".`);
}

function readCursor(text: string): SessionId {
  const id = sessionIdSchema.safeParse(text);
  if (id.success) return id.data;
  throw new ServiceError("request.invalid", "The cursor is not one of ours.", {
    param: "after",
    hint: "Use `next_cursor` of the page before, unchanged.",
  });
}
