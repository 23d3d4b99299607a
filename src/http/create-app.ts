/** The HTTP surface on one screen: the order of middleware, the routes, the error reporter last. */
import express, { type Express, type NextFunction, type Request, type Response } from "express";
import helmet, { type HelmetOptions } from "helmet";
import { ServiceError } from "../domain/errors.js";
import type { Clock } from "../ports/clock.js";
import type { IdSource } from "../ports/id-source.js";
import type { Logger } from "../ports/logger.js";
import type { Metrics } from "../ports/metrics.js";
import type { FileService } from "../runs/file-service.js";
import type { RunService } from "../runs/run-service.js";
import type { SessionService } from "../runs/session-service.js";
import { authenticate, requireAdmin } from "./authenticate.js";
import { identifyRequest } from "./identify-request.js";
import { KeyRing, type RingKey } from "./key-ring.js";
import { mountRoutes } from "./mount-routes.js";
import { OpenStreams } from "./open-streams.js";
import { JsonReader } from "./read-json.js";
import type { FormLimits } from "./read-multipart.js";
import { type ProbeParts, Readiness } from "./readiness.js";
import { refuseForeignPages, refuseOddRequests } from "./refuse-odd-requests.js";
import { answerError } from "./report-error.js";
import { RequestContexts } from "./request-contexts.js";
import { logRequests } from "./request-log.js";
import { type BoxRoutesDeps, boxStatusRoute } from "./routes/boxes.js";
import { createEventRoute } from "./routes/create-event.js";
import { createRunRoute } from "./routes/create-run.js";
import { fileRoutes } from "./routes/files.js";
import { operationRoutes } from "./routes/operations.js";
import { type RunnerRoutesDeps, runnersRoute } from "./routes/runners.js";
import { runRoutes } from "./routes/runs.js";
import { sessionExecRoute } from "./routes/session-exec.js";
import { sessionFileRoutes } from "./routes/session-files.js";
import { sessionJobRoutes } from "./routes/session-jobs.js";
import { sessionTerminalRoute } from "./routes/session-terminal.js";
import { sessionRoutes } from "./routes/sessions.js";
import { STREAM_TIMING, type StreamTiming } from "./server-sent-events.js";
import { TokenBuckets } from "./token-bucket.js";
import { Upgrades } from "./upgrades.js";

/** What the surface takes from the configuration. */
export interface HttpSettings {
  readonly version: string;
  readonly keys: readonly RingKey[];
  readonly publicUrl: string | null;
  readonly jsonBodyBytes: number;
  readonly requestsPerMinute: number;
  readonly runsPerMinute: number;
  readonly eventStreams: number;
  readonly authFailuresPerMinute: number;
  readonly inbound: Pick<FormLimits, "maxFileBytes" | "maxFiles" | "maxTotalBytes">;
  readonly streamTiming?: StreamTiming | undefined;
}

export interface AppDeps {
  readonly runs: RunService;
  readonly files: FileService;
  readonly sessions: SessionService;
  readonly boxes: BoxRoutesDeps["boxes"];
  readonly runners: RunnerRoutesDeps["runners"];
  readonly probeParts: ProbeParts;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly settings: HttpSettings;
}

export interface HttpApp {
  readonly app: Express;
  /** Ended first when the service stops. */
  readonly streams: OpenStreams;
  /** Told of requests that ask for another protocol. */
  readonly upgrades: Upgrades;
}

/** No answer of the service needs anything from anywhere; TLS is the proxy's matter. */
const HEADERS: HelmetOptions = {
  contentSecurityPolicy: {
    useDefaults: false,
    directives: { "default-src": ["'none'"], "frame-ancestors": ["'none'"] },
  },
  strictTransportSecurity: false,
  xFrameOptions: { action: "deny" },
};

export function createApp(deps: AppDeps): HttpApp {
  const { runs, files, sessions, boxes, runners, metrics, logger, clock, ids, settings } = deps;
  const contexts = new RequestContexts();
  const keys = new KeyRing(settings.keys);
  const streams = new OpenStreams(settings.eventStreams);
  const upgrades = new Upgrades();
  const json = new JsonReader(settings.jsonBodyBytes);
  const formLimits = { ...settings.inbound, maxFieldBytes: settings.jsonBodyBytes };
  const publicUrl = settings.publicUrl?.replace(/\/+$/, "") ?? null;
  const timing = settings.streamTiming ?? STREAM_TIMING;
  const rate = new TokenBuckets(clock, settings.runsPerMinute);
  const failures = new TokenBuckets(clock, settings.authFailuresPerMinute);
  const readiness = new Readiness(deps.probeParts, clock);
  const shared = { runs, files, sessions, json, streams, timing, rate, formLimits };

  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.set("query parser", "simple");
  app.use(identifyRequest({ contexts, ids, clock }));
  app.use(logRequests({ contexts, logger, metrics, clock }));
  app.use(refuseOddRequests());
  app.use(helmet(HEADERS));
  if (keys.isEmpty) app.use(refuseForeignPages());
  mountRoutes(
    app,
    [
      createRunRoute(shared),
      ...runRoutes(shared),
      createEventRoute(shared),
      ...fileRoutes({ files, formLimits, publicUrl }),
      ...sessionRoutes(shared),
      ...sessionFileRoutes({ ...shared, maxFileBytes: settings.inbound.maxFileBytes }),
      sessionExecRoute(shared),
      ...sessionJobRoutes(shared),
      sessionTerminalRoute({ ...shared, upgrades }),
      boxStatusRoute({ boxes }),
      runnersRoute({ runners }),
      ...operationRoutes({ runs, readiness, metrics, version: settings.version, publicUrl }),
    ],
    {
      contexts,
      authenticate: (request) => authenticate({ keys, failures }, request),
      requireAdmin,
      requests: new TokenBuckets(clock, settings.requestsPerMinute),
    },
  );
  app.use(refuseUnknownRoute);
  app.use((thrown: unknown, request: Request, response: Response, _next: NextFunction) => {
    if (!answerError(contexts.of(request), thrown, response)) response.destroy();
  });
  return { app, streams, upgrades };
}

function refuseUnknownRoute(request: Request): never {
  const route = `${request.method} ${request.path.slice(0, 200)}`;
  throw new ServiceError("request.route_not_found", `There is no route ${route}.`, {
    hint: "The routes are listed in /openapi.json.",
  });
}
