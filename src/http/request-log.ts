/** One line per request, with how it ended. Never a query, a header or a body. */
import type { Request, RequestHandler, Response } from "express";
import type { Clock } from "../ports/clock.js";
import type { LogFields, Logger } from "../ports/logger.js";
import type { Metrics } from "../ports/metrics.js";
import type { RequestContext, RequestContexts } from "./request-contexts.js";

export interface RequestLogDeps {
  readonly contexts: RequestContexts;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
}

/** Routes whose successes would drown the log. */
const QUIET = new Set(["/healthz", "/readyz", "/metrics"]);

export function logRequests(deps: RequestLogDeps): RequestHandler {
  return (request, response, next) => {
    response.once("close", () => logRequest(deps, request, response));
    next();
  };
}

function logRequest(
  { contexts, logger, metrics, clock }: RequestLogDeps,
  request: Request,
  response: Response,
): void {
  const context = contexts.of(request);
  const { route, error } = context;
  const durationMs = Math.round(clock.elapsed() - context.startedAt);
  const method = request.method.slice(0, 16);
  const status = response.statusCode;
  metrics.requestHandled({ route: route ?? "none", method, status, durationMs });
  const outcome = response.writableFinished || status === 101 ? "answered" : "client_gone";
  const fields = { ...describe(context), method, status, outcome, durationMs };
  if (error?.code === "internal") logger.error(fields, "A request failed.", error.cause);
  else if (status >= 500) logger.warn(fields, "A request failed.");
  else if (route !== null && QUIET.has(route)) logger.debug(fields, "A request was answered.");
  else logger.info(fields, "A request was answered.");
}

function describe({ requestId, route, caller, runId, error }: RequestContext): LogFields {
  return { requestId, route, tenant: caller?.tenant, runId, code: error?.code };
}
