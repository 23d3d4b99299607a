/** Look at runs, follow, stop, repeat and acknowledge them (api §2). */
import { ServiceError } from "../../domain/errors.js";
import {
  type FileId,
  fileIdSchema,
  type RunId,
  runIdSchema,
  type SessionId,
  sessionIdSchema,
} from "../../domain/ids.js";
import type { RunService } from "../../runs/run-service.js";
import { parseInput } from "../parse-input.js";
import { takeRunToken } from "../rate-limit.js";
import type { JsonReader } from "../read-json.js";
import { type Exchange, implement, pathParameter, type Route } from "../route.js";
import {
  acknowledgeDelivery,
  cancelRun,
  followRun,
  getRun,
  listRuns,
  listSteering,
  retryRun,
  steerRun,
} from "../run-contracts.js";
import {
  acknowledgeSchema,
  cancelSchema,
  emptyBodySchema,
  lastEventIdSchema,
  steerSchema,
} from "../schemas/run-bodies.js";
import { type StreamRunDeps, streamRun } from "../stream-run.js";
import type { TokenBuckets } from "../token-bucket.js";

export interface RunRoutesDeps extends StreamRunDeps {
  readonly runs: RunService;
  readonly json: JsonReader;
  readonly rate: TokenBuckets;
}

export function runRoutes(deps: RunRoutesDeps): readonly Route[] {
  return [listRunsRoute(deps), getRunRoute(deps), followRunRoute(deps), ...changeRunRoutes(deps)];
}

function listRunsRoute({ runs }: RunRoutesDeps): Route {
  return implement(listRuns, async ({ caller, query, response }) => {
    const { chat, status, limit } = query;
    const session = readSessionId(query.session);
    const after = query.after === undefined ? undefined : readCursor(query.after);
    const filter = { session, chat, status, limit, after };
    const page = await runs.list(caller, filter);
    const last = page.runs.at(-1);
    response.json({
      object: "list",
      data: page.runs,
      has_more: page.hasMore,
      next_cursor: page.hasMore && last !== undefined ? last.id : null,
    });
  });
}

function getRunRoute({ runs }: RunRoutesDeps): Route {
  return implement(getRun, async (exchange) => {
    exchange.response.json(await runs.get(exchange.caller, readRunId(exchange)));
  });
}

function followRunRoute(deps: RunRoutesDeps): Route {
  return implement(followRun, async (exchange) => {
    const id = readRunId(exchange);
    const after = readLastEventId(exchange) ?? exchange.query.after ?? 0;
    await streamRun(deps, exchange, { id, after });
  });
}

function changeRunRoutes({ runs, json, rate }: RunRoutesDeps): readonly Route[] {
  return [
    implement(cancelRun, async (exchange) => {
      const { caller, response, signal } = exchange;
      const { body } = await json.readAs(cancelSchema, exchange);
      response.json(await runs.cancel(caller, readRunId(exchange), { ...body, signal }));
    }),
    implement(steerRun, async (exchange) => {
      const { caller, response, signal } = exchange;
      const { body } = await json.readAs(steerSchema, exchange);
      takeRunToken(rate, caller.tenant);
      response
        .status(202)
        .json(await runs.steer(caller, { id: readRunId(exchange), text: body.text }, { signal }));
    }),
    implement(listSteering, async (exchange) => {
      const data = await runs.listSteering(exchange.caller, readRunId(exchange));
      exchange.response.json({ object: "list", data });
    }),
    implement(retryRun, async (exchange) => {
      const { caller, response, signal } = exchange;
      await json.readAs(emptyBodySchema, exchange);
      takeRunToken(rate, caller.tenant);
      const { run } = await runs.retry(caller, readRunId(exchange), { signal });
      response.status(202).json(run);
    }),
    implement(acknowledgeDelivery, async (exchange) => {
      const { body } = await json.readAs(acknowledgeSchema, exchange);
      const ids = { run: readRunId(exchange), file: readDeliveryId(exchange) };
      exchange.response.json(await runs.acknowledge(exchange.caller, ids, body));
    }),
  ];
}

/** A text that is no id of ours is one that is not known. */
function readRunId({ request, context }: Exchange): RunId {
  const text = pathParameter(request, "id");
  const id = runIdSchema.safeParse(text);
  if (!id.success) throw new ServiceError("run.not_found", `There is no run "${text.slice(0, 100)}".`);
  context.runId = id.data;
  return id.data;
}

function readDeliveryId({ request }: Exchange): FileId {
  const id = fileIdSchema.safeParse(pathParameter(request, "file_id"));
  if (id.success) return id.data;
  throw new ServiceError("delivery.not_found", "This run has no such delivery.", { param: "file_id" });
}

/** A text that is no id of ours names a session without runs. */
function readSessionId(text: string | undefined): SessionId | undefined {
  if (text === undefined) return undefined;
  return sessionIdSchema.safeParse(text).data ?? `ses_${text}`;
}

function readCursor(text: string): RunId {
  const id = runIdSchema.safeParse(text);
  if (id.success) return id.data;
  throw new ServiceError("request.invalid", "The cursor is not one of ours.", {
    param: "after",
    hint: "Use `next_cursor` of the page before, unchanged.",
  });
}

function readLastEventId({ request }: Exchange): number | undefined {
  const given = request.headers["last-event-id"];
  const headers = given === undefined ? {} : { "last-event-id": given };
  return parseInput(lastEventIdSchema, headers, "headers")["last-event-id"];
}
