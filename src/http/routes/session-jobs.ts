/** Jobs of a session: start, look, send, follow, stop (api §4, box §14). */
import type { z } from "zod";
import { readWorkspacePath } from "../../box/workspace-files.js";
import { toServiceError } from "../../domain/errors.js";
import type { SessionId } from "../../domain/ids.js";
import { type JobInfo, KEPT_OUTPUT_BYTES } from "../../domain/job.js";
import { linkSignals } from "../../lib/link-signals.js";
import type { SessionProcesses, SessionService } from "../../runs/session-service.js";
import { getJob, getJobOutput, listJobs, sendJobInput, startJob, stopJob } from "../job-contracts.js";
import type { OpenStreams } from "../open-streams.js";
import { OutputTexts, toOutputText } from "../output-text.js";
import type { JsonReader } from "../read-json.js";
import { toErrorBody } from "../report-error.js";
import { type Exchange, implement, pathParameter, type Route } from "../route.js";
import { jobInputSchema, type jobSchema, startJobSchema } from "../schemas/job-bodies.js";
import { EventStream, type StreamTiming } from "../server-sent-events.js";
import { STREAM_ERROR_EVENT } from "../stream-run.js";
import { readSessionId } from "./sessions.js";

export interface SessionJobsDeps {
  readonly sessions: SessionService;
  readonly json: JsonReader;
  readonly streams: OpenStreams;
  readonly timing: StreamTiming;
}

/** Bytes of one event. */
const EVENT_BYTES = 16 * 1024;

export function sessionJobRoutes(deps: SessionJobsDeps): readonly Route[] {
  const { sessions, json } = deps;
  const find = async (exchange: Pick<Exchange, "caller" | "request">): Promise<SessionProcesses> =>
    sessions.processes(exchange.caller, readSessionId(exchange));
  return [
    implement(startJob, async (exchange) => {
      const { session, jobs } = await find(exchange);
      const { body } = await json.readAs(startJobSchema, exchange);
      const { workdir = "/workspace", env = {}, ...rest } = body;
      const request = { ...rest, workdir: readWorkspacePath(workdir), env };
      exchange.response.json(
        toJob(session.id, await jobs.start(session, request, { signal: exchange.signal })),
      );
    }),
    implement(listJobs, async (exchange) => {
      const { session, jobs } = await find(exchange);
      const data = jobs.list(session.id).map((job) => toJob(session.id, job));
      exchange.response.json({ object: "list", data });
    }),
    implement(getJob, async (exchange) => {
      const { session, jobs } = await find(exchange);
      exchange.response.json(toJob(session.id, jobs.info(session.id, readJobId(exchange))));
    }),
    implement(stopJob, async (exchange) => {
      const { session, jobs } = await find(exchange);
      exchange.response.json(toJob(session.id, await jobs.stop(session.id, readJobId(exchange))));
    }),
    implement(sendJobInput, async (exchange) => {
      const { session, jobs } = await find(exchange);
      const { body } = await json.readAs(jobInputSchema, exchange);
      const { signal, response } = exchange;
      const id = readJobId(exchange);
      const data = Buffer.from(body.data, body.encoding === "text" ? "utf8" : "base64");
      const sent = data.length > 0 || !body.end ? await jobs.input(session.id, id, { signal, data }) : null;
      const closed = body.end ? await jobs.input(session.id, id, { signal, data: null }) : null;
      response.json(toJob(session.id, closed ?? sent ?? jobs.info(session.id, id)));
    }),
    outputRoute(deps),
  ];
}

function outputRoute(deps: SessionJobsDeps): Route {
  return implement(getJobOutput, async (exchange) => {
    const { session, jobs } = await deps.sessions.processes(exchange.caller, readSessionId(exchange));
    const { after, wait_sec: waitSec, stream } = exchange.query;
    const id = readJobId(exchange);
    if (stream === "true") {
      await streamOutput(deps, exchange, { processes: { session, jobs }, id, after });
      return;
    }
    const of = { signal: exchange.signal, after, maxBytes: KEPT_OUTPUT_BYTES, waitMs: waitSec * 1000 };
    const { job, output } = await jobs.poll(session.id, id, of);
    const isWhole = job.status === "exited" && output.next >= job.output_bytes;
    const text = toOutputText(output, isWhole);
    exchange.response.json({ object: "job.output", job: toJob(session.id, job), ...text });
  });
}

interface Followed {
  readonly processes: Pick<SessionProcesses, "session" | "jobs">;
  readonly id: string;
  readonly after: number;
}

/** Output as it comes, then how the job ended; once the stream is open, what goes wrong is told in it. */
async function streamOutput(
  deps: SessionJobsDeps,
  exchange: Exchange,
  { processes: { session, jobs }, id, after }: Followed,
): Promise<void> {
  const { caller, response, context, signal } = exchange;
  using follower = jobs.follow(session.id, id, after);
  using place = deps.streams.open(caller.tenant);
  using linked = linkSignals(signal, place.signal);
  using stream = new EventStream(response, deps.timing);
  stream.open();
  const send = async (type: string, data: unknown): Promise<void> =>
    stream.send({ event: type, data: { type, data, job_id: id } });
  try {
    const texts = new OutputTexts();
    let next = after;
    for (let read = await follower.read(EVENT_BYTES, linked); read !== null; ) {
      await send("job.output", texts.push(read));
      next = read.next;
      read = await follower.read(EVENT_BYTES, linked);
    }
    const broken = texts.end();
    if (broken.length > 0) await send("job.output", { output: broken, next, dropped_bytes: 0 });
    await send("job.ended", toJob(session.id, jobs.info(session.id, id)));
  } catch (thrown) {
    if (signal.aborted || response.destroyed) return;
    const error = toServiceError(thrown);
    context.error = error;
    await send(STREAM_ERROR_EVENT, toErrorBody(error, context.requestId));
  }
}

function toJob(sessionId: SessionId, job: JobInfo): z.infer<typeof jobSchema> {
  return { object: "job", session_id: sessionId, ...job };
}

function readJobId({ request }: Pick<Exchange, "request">): string {
  return pathParameter(request, "job");
}
