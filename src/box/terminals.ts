/** Terminals that people opened: each is one process in the box of a session, and outlives its connection for a while (box §14.4). */
import { ServiceError } from "../domain/errors.js";
import type { SessionId } from "../domain/ids.js";
import type { SessionRecord } from "../domain/session.js";
import { CleanupStack } from "../lib/cleanup-stack.js";
import type { TerminalSize } from "../ports/box-handle.js";
import type { CallOptions } from "../ports/options.js";
import type { JobsDeps } from "./jobs.js";
import { ManagedProcess } from "./managed-process.js";
import { SessionStarts } from "./session-starts.js";

export type TerminalsDeps = Omit<JobsDeps, "mask">;

export interface TerminalsSettings {
  /** Terminals at one time, of all tenants. */
  readonly maxOpen: number;
}

export interface Terminal {
  readonly id: string;
  readonly process: ManagedProcess;
}

interface OpenTerminal extends Terminal {
  readonly sessionId: SessionId;
  /** Since when nobody is connected; null while somebody is. */
  leftAt: number | null;
}

/** How long a terminal waits for the next connection. */
const ABANDONED_MS = 30 * 60_000;
const SHELL = "if command -v bash >/dev/null 2>&1; then exec bash -il; else exec sh -il; fi";

export class Terminals implements AsyncDisposable {
  readonly #deps: TerminalsDeps;
  readonly #settings: TerminalsSettings;
  readonly #terminals = new Map<string, OpenTerminal>();
  readonly #starts = new SessionStarts();
  #isClosed = false;

  constructor(deps: TerminalsDeps, settings: TerminalsSettings) {
    this.#deps = deps;
    this.#settings = settings;
  }

  get count(): number {
    return this.#terminals.size;
  }

  /**
   * Starts a shell on a terminal of that size.
   * @throws ServiceError `box.capacity` when there are too many; what the box fails with
   */
  async open(session: SessionRecord, size: TerminalSize, options: CallOptions): Promise<Terminal> {
    if (this.#isClosed) throw new ServiceError("service.stopping", "The service is stopping.");
    return this.#starts.run(session.id, async (linked) => this.#open(session, size, linked), options);
  }

  /** @throws ServiceError `box.process_not_found` for one that is unknown or has ended */
  find(sessionId: SessionId, id: string): Terminal {
    const terminal = this.#terminals.get(id);
    if (terminal?.sessionId === sessionId && terminal.process.exit === null) return terminal;
    throw new ServiceError(
      "box.process_not_found",
      `The session has no open terminal ${JSON.stringify(id.slice(0, 100))}.`,
      { hint: "Connect without the id to open a new one." },
    );
  }

  /** Somebody is connected until the hold is disposed of. */
  connect(id: string): Disposable {
    const terminal = this.#terminals.get(id);
    if (terminal !== undefined) terminal.leftAt = null;
    return {
      [Symbol.dispose]: () => {
        if (terminal?.process.isFollowed === false) terminal.leftAt = this.#deps.clock.elapsed();
      },
    };
  }

  /** Ends terminals that nobody was connected to for 30 min. */
  async closeAbandoned(): Promise<void> {
    const limit = this.#deps.clock.elapsed() - ABANDONED_MS;
    await this.#end(({ leftAt }) => leftAt !== null && leftAt <= limit);
  }

  /** The session is stopped or removed. */
  async endAll(sessionId: SessionId): Promise<void> {
    await this.#starts.cancel(sessionId);
    await this.#end((terminal) => terminal.sessionId === sessionId);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await this.#starts.cancel(null);
    await this.#end(() => true);
  }

  async #open(session: SessionRecord, size: TerminalSize, options: CallOptions): Promise<Terminal> {
    this.#checkRoom();
    await using taken = new CleanupStack();
    const lease = taken.use(await this.#deps.lease(session, { ...options, kind: "terminal" }));
    const request = {
      argv: ["sh", "-c", SHELL],
      workdir: "/workspace",
      env: { TERM: "xterm-256color" },
      terminal: size,
    };
    const process = taken.use(await lease.handle.spawn(request, options));
    options.signal.throwIfAborted();
    taken.move();
    const { clock, ids } = this.#deps;
    const terminal = {
      id: ids.create("term"),
      sessionId: session.id,
      process: ManagedProcess.manage({ process, lease, clock }),
      leftAt: clock.elapsed(),
    };
    this.#terminals.set(terminal.id, terminal);
    void this.#forgetEnded(terminal);
    return terminal;
  }

  /** What is being opened counts, this one too. */
  #checkRoom(): void {
    const { maxOpen } = this.#settings;
    const others = this.count + this.#starts.count - 1;
    if (others < maxOpen) return;
    throw new ServiceError(
      "box.capacity",
      `${others} terminals are open or being opened; the limit is ${maxOpen} (jobs.max_terminals).`,
      { hint: "Close a terminal, or try again later.", details: { limit: maxOpen, used: others } },
    );
  }

  async #forgetEnded(terminal: OpenTerminal): Promise<void> {
    await terminal.process.closed;
    this.#terminals.delete(terminal.id);
    const { sessionId } = terminal;
    this.#deps.logger.info({ sessionId, outcome: terminal.process.exit?.status }, "A terminal was closed.");
  }

  async #end(isMeant: (terminal: OpenTerminal) => boolean): Promise<void> {
    const meant = [...this.#terminals.values()].filter(isMeant);
    await Promise.all(meant.map(({ process }) => process.kill()));
  }
}
