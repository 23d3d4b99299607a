/** Gives every request an id and says it in the answer (api §1.4). */
import type { RequestHandler } from "express";
import type { Clock } from "../ports/clock.js";
import type { IdSource } from "../ports/id-source.js";
import type { RequestContexts } from "./request-contexts.js";

/** A caller's own id is kept if it is short and harmless in a header and a log line. */
const SANE_ID = /^[A-Za-z0-9._:-]{1,128}$/;

export function identifyRequest(deps: {
  readonly contexts: RequestContexts;
  readonly ids: IdSource;
  readonly clock: Clock;
}): RequestHandler {
  return (request, response, next) => {
    const given = request.get("x-request-id");
    const requestId = given !== undefined && SANE_ID.test(given) ? given : deps.ids.create("req");
    deps.contexts.open(request, {
      requestId,
      startedAt: deps.clock.elapsed(),
      caller: null,
      route: null,
      runId: null,
      error: null,
    });
    response.setHeader("X-Request-Id", requestId);
    next();
  };
}
