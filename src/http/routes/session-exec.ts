/** A command that a person runs in a session's box, answered by its result or by its output as it comes (api §4). */
import { ServiceError, toServiceError } from "../../domain/errors.js";
import { linkSignals } from "../../lib/link-signals.js";
import type { CallOptions } from "../../ports/options.js";
import type { ToolEvent } from "../../ports/tool.js";
import type { HandCommand, OpenSession } from "../../runs/open-session.js";
import type { SessionService } from "../../runs/session-service.js";
import type { OpenStreams } from "../open-streams.js";
import type { JsonReader } from "../read-json.js";
import { toErrorBody } from "../report-error.js";
import { type Exchange, implement, type Route } from "../route.js";
import { execResultSchema, execSchema } from "../schemas/session-bodies.js";
import { EventStream, type StreamTiming } from "../server-sent-events.js";
import { execInSession } from "../session-contracts.js";
import { STREAM_ERROR_EVENT } from "../stream-run.js";
import { readSessionId } from "./sessions.js";

export interface SessionExecDeps {
  readonly sessions: SessionService;
  readonly json: JsonReader;
  readonly streams: OpenStreams;
  readonly timing: StreamTiming;
}

type ExecResult = Readonly<Record<string, unknown>>;

export function sessionExecRoute(deps: SessionExecDeps): Route {
  return implement(execInSession, async (exchange) => {
    const { caller, response, signal } = exchange;
    const { body } = await deps.json.readAs(execSchema, exchange);
    const { stream, ...command } = body;
    const id = readSessionId(exchange);
    await using box = await deps.sessions.open(caller, id, { signal });
    if (stream) await streamCommand(deps, exchange, { box, command, sessionId: id });
    else response.json(await runToEnd(box, command, { signal }));
  });
}

async function runToEnd(box: OpenSession, command: HandCommand, options: CallOptions): Promise<ExecResult> {
  for await (const event of box.run(command, options))
    if (event.type === "outcome") return readOutcome(event, box.notes);
  throw new ServiceError("internal", "A command ended without an outcome.");
}

/** The command ends with its client; once the stream is open, what goes wrong is told in it. */
async function streamCommand(
  deps: SessionExecDeps,
  exchange: Exchange,
  of: { readonly box: OpenSession; readonly command: HandCommand; readonly sessionId: string },
): Promise<void> {
  const { caller, response, context, signal } = exchange;
  using place = deps.streams.open(caller.tenant);
  using linked = linkSignals(signal, place.signal);
  using stream = new EventStream(response, deps.timing);
  stream.open();
  const send = async (type: string, data: unknown): Promise<void> =>
    stream.send({ event: type, data: { type, data, session_id: of.sessionId } });
  try {
    for await (const event of of.box.run(of.command, linked)) {
      if (event.type === "output") await send("tool.output", { stream: event.stream, text: event.text });
      else await send("tool.call.completed", readOutcome(event, of.box.notes));
    }
  } catch (thrown) {
    if (signal.aborted || response.destroyed) return;
    const error = toServiceError(thrown);
    context.error = error;
    await send(STREAM_ERROR_EVENT, toErrorBody(error, context.requestId));
  }
}

/**
 * The result, with what was lost before the command began.
 * @throws ServiceError `box.validation` for a command that could not be run as it was given
 */
function readOutcome(event: Extract<ToolEvent, { type: "outcome" }>, lost: readonly string[]): ExecResult {
  const { outcome } = event;
  if (!outcome.ok) throw new ServiceError("box.validation", outcome.error);
  const result = execResultSchema.parse(outcome.result);
  return { ...result, notes: [...lost, ...result.notes] };
}
