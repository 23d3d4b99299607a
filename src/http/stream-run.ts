/** Sends the events of a run to one client, from a number on until the terminal one (runs §9.4, §9.5). */
import type { Response } from "express";
import { type ServiceError, toServiceError } from "../domain/errors.js";
import type { RunId } from "../domain/ids.js";
import { type RunEvent, TERMINAL_EVENTS } from "../domain/run.js";
import { linkSignals } from "../lib/link-signals.js";
import type { RunService } from "../runs/run-service.js";
import type { OpenStreams } from "./open-streams.js";
import { toErrorBody } from "./report-error.js";
import type { Exchange } from "./route.js";
import { EventStream, type StreamTiming } from "./server-sent-events.js";

export interface StreamRunDeps {
  readonly runs: Pick<RunService, "follow" | "get">;
  readonly streams: OpenStreams;
  readonly timing: StreamTiming;
}

/** The event that stands for a failure of the service itself; it has no id, so that a client resumes where it was. */
export const STREAM_ERROR_EVENT = "error";

/**
 * Once the stream is open, what goes wrong is told in it, and it never just ends.
 * @throws ServiceError `run.not_found` before that
 */
export async function streamRun(
  deps: StreamRunDeps,
  exchange: Exchange,
  run: { readonly id: RunId; readonly after: number },
): Promise<void> {
  const { caller, response, context } = exchange;
  using place = deps.streams.open(caller.tenant);
  using linked = linkSignals(exchange.signal, place.signal);
  const events = await deps.runs.follow(caller, run, linked);
  if (exchange.request.method === "HEAD") {
    response.type("text/event-stream").end();
    return;
  }
  using stream = new EventStream(response, deps.timing);
  stream.open();
  try {
    const isComplete = await sendAll(events, stream);
    if (!isComplete && !(await hasEnded(deps, exchange, run.id)))
      throw new Error("The events of the run ended without a terminal one.");
  } catch (thrown) {
    if (isGone(exchange, response)) return;
    const error = toServiceError(thrown);
    context.error = error;
    await stream.send(errorEvent(error, { runId: run.id, requestId: context.requestId }));
  }
}

async function sendAll(events: AsyncIterable<RunEvent>, stream: EventStream): Promise<boolean> {
  let isComplete = false;
  for await (const event of events) {
    const { type, data, run_id, sequence, timestamp } = event;
    await stream.send({ id: sequence, event: type, data: { type, data, run_id, sequence, timestamp } });
    isComplete = TERMINAL_EVENTS.includes(type);
  }
  return isComplete;
}

/** A client that has seen the terminal event already gets nothing more. */
async function hasEnded({ runs }: StreamRunDeps, { caller }: Exchange, id: RunId): Promise<boolean> {
  const { status } = await runs.get(caller, id);
  return status !== "queued" && status !== "running";
}

function errorEvent(error: ServiceError, ids: { readonly runId: RunId; readonly requestId: string }) {
  const data = { type: STREAM_ERROR_EVENT, data: toErrorBody(error, ids.requestId), run_id: ids.runId };
  return { event: STREAM_ERROR_EVENT, data };
}

function isGone(exchange: Exchange, response: Response): boolean {
  return exchange.signal.aborted || response.destroyed;
}
