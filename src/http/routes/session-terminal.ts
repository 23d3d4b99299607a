/** The way into a terminal of a session's box: checked like every request, then a WebSocket (api §4, box §14.4). */
import type { Terminal } from "../../box/terminals.js";
import { ServiceError } from "../../domain/errors.js";
import type { SessionService } from "../../runs/session-service.js";
import { openTerminal } from "../job-contracts.js";
import type { OpenStreams } from "../open-streams.js";
import { implement, type Route } from "../route.js";
import type { StreamTiming } from "../server-sent-events.js";
import { TerminalConnection } from "../terminal-connection.js";
import type { Upgrades } from "../upgrades.js";
import { readSessionId } from "./sessions.js";

export interface SessionTerminalDeps {
  readonly sessions: SessionService;
  readonly upgrades: Upgrades;
  readonly streams: OpenStreams;
  readonly timing: StreamTiming;
}

export function sessionTerminalRoute(deps: SessionTerminalDeps): Route {
  const { sessions, upgrades, streams, timing } = deps;
  return implement(openTerminal, async (exchange) => {
    const { caller, query, request, signal } = exchange;
    const { session, terminals } = await sessions.processes(caller, readSessionId(exchange));
    if (!upgrades.isAsked(request)) throw notAsked();
    using place = streams.open(caller.tenant);
    const { terminal: known, ...size } = query;
    const isNew = known === undefined;
    const terminal = isNew
      ? await terminals.open(session, size, { signal })
      : terminals.find(session.id, known);
    const webSocket = await upgrades.accept(request);
    if (webSocket === null) {
      await abandon(terminal, isNew);
      return;
    }
    if (!isNew) terminal.process.resize(size);
    using _connection = terminals.connect(terminal.id);
    const { heartbeatMs } = timing;
    await new TerminalConnection({ webSocket, terminal, stopping: place.signal, heartbeatMs }).serve();
  });
}

/** Nobody knows the id of a terminal whose client left before it heard of it. */
async function abandon({ process }: Terminal, isNew: boolean): Promise<void> {
  if (isNew) await process.kill();
}

function notAsked(): ServiceError {
  return new ServiceError("request.invalid", "A terminal is reached over WebSocket, version 13.", {
    hint: "Send the request with a WebSocket client.",
  });
}
