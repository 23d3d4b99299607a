/** The handle of a lease: when its box is gone, the next call gets one that runs, with the same workspace (box §11.4). */
import { ServiceError } from "../domain/errors.js";
import { BOX_DELETED_NOTE, BOX_ENDED_NOTE } from "../domain/exec-outcome.js";
import { CleanupStack } from "../lib/cleanup-stack.js";
import { SingleFlight } from "../lib/single-flight.js";
import type {
  BoxFiles,
  BoxHandle,
  BoxProcess,
  ExecEvent,
  ExecRequest,
  FileStreamEvent,
  ReadRequest,
  SpawnRequest,
} from "../ports/box-handle.js";
import type { CallOptions } from "../ports/options.js";

type ExitEvent = Extract<ExecEvent, { readonly type: "exit" }>;

export interface Reopened {
  readonly handle: BoxHandle;
  /** What was lost, one sentence each; empty = nothing. */
  readonly notes: readonly string[];
}

/**
 * @returns null when the box runs as it did: then the call failed for another reason
 * @throws ServiceError as a bind; `box.not_found` when the session was deleted
 */
export type Reopen = (options: CallOptions) => Promise<Reopened | null>;

/** Says whether the session of the lease was deleted. */
export type AskDeleted = (options: CallOptions) => Promise<boolean>;

export interface RevivingDeps {
  readonly reopen: Reopen;
  readonly askDeleted: AskDeleted;
  /** Variables of every command, job and terminal; what one of them says itself counts more (box §10.7). */
  readonly env: ExecRequest["env"];
}

/** A call that found no running box has done nothing yet, so it is made once more; nothing else is repeated. */
export class RevivingHandle implements BoxHandle {
  readonly files: BoxFiles;
  readonly #deps: RevivingDeps;
  readonly #revivals = new SingleFlight<"revival", BoxHandle | null>();
  readonly #taken = new CleanupStack();
  #current: BoxHandle;
  /** What the next command's result still has to tell. */
  #untold: readonly string[] = [];

  constructor(first: BoxHandle, deps: RevivingDeps) {
    this.#current = this.#taken.use(first);
    this.#deps = deps;
    this.files = {
      stat: (paths, options) => this.#call(({ files }) => files.stat(paths, options), options),
      read: (requests, options) => this.#read(requests, options),
      write: (requests, options) => this.#call(({ files }) => files.write(requests, options), options),
      list: (request, options) => this.#call(({ files }) => files.list(request, options), options),
      remove: (targets, options) => this.#call(({ files }) => files.remove(targets, options), options),
      resetDirectories: (paths, options) =>
        this.#call(({ files }) => files.resetDirectories(paths, options), options),
    };
  }

  async *exec(asked: ExecRequest, options: CallOptions): AsyncIterable<ExecEvent> {
    const request = { ...asked, env: { ...this.#deps.env, ...asked.env } };
    for await (const event of this.#stream((handle) => handle.exec(request, options), options))
      yield event.type === "exit" ? this.#tell(await this.#withoutFalseHope(event, options)) : event;
  }

  async spawn(asked: SpawnRequest, options: CallOptions): Promise<BoxProcess> {
    const request = { ...asked, env: { ...this.#deps.env, ...asked.env } };
    return this.#call((handle) => handle.spawn(request, options), options);
  }

  /**
   * Takes up the box again where the lease itself has had it stopped and started; `notes` are told with the next command
   * then.
   */
  async renew(notes: readonly string[], options: CallOptions): Promise<void> {
    const reopened = await this.#deps.reopen(options);
    if (reopened === null) return;
    this.#current = this.#taken.use(reopened.handle);
    this.#untold = [...this.#untold, ...notes];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#taken[Symbol.asyncDispose]();
  }

  #read(requests: readonly ReadRequest[], options: CallOptions): AsyncIterable<FileStreamEvent> {
    return this.#stream(({ files }) => files.read(requests, options), options);
  }

  async #call<Value>(ask: (handle: BoxHandle) => Promise<Value>, options: CallOptions): Promise<Value> {
    const handle = this.#current;
    try {
      return await ask(handle);
    } catch (error) {
      return ask(await this.#findRunning(handle, error, options));
    }
  }

  async *#stream<Event>(
    ask: (handle: BoxHandle) => AsyncIterable<Event>,
    options: CallOptions,
  ): AsyncGenerator<Event, void> {
    const handle = this.#current;
    let hasBegun = false;
    try {
      for await (const event of ask(handle)) {
        hasBegun = true;
        yield event;
      }
      return;
    } catch (error) {
      if (hasBegun) throw error;
      yield* ask(await this.#findRunning(handle, error, options));
    }
  }

  /** @throws the error itself when it says something else, or when no other box can be had */
  async #findRunning(lost: BoxHandle, error: unknown, options: CallOptions): Promise<BoxHandle> {
    options.signal.throwIfAborted();
    if (!(error instanceof ServiceError) || error.code !== "box.readiness") throw error;
    if (this.#current !== lost) return this.#current;
    const found = await this.#revivals.run("revival", (signal) => this.#revive({ signal }), options);
    if (found === null) throw error;
    return found;
  }

  async #revive(options: CallOptions): Promise<BoxHandle | null> {
    const reopened = await this.#deps.reopen(options);
    if (reopened === null) return null;
    this.#current = this.#taken.use(reopened.handle);
    this.#untold = [...this.#untold, ...reopened.notes];
    return this.#current;
  }

  /** A box that ended because its session was deleted kept no files. */
  async #withoutFalseHope(event: ExitEvent, options: CallOptions): Promise<ExitEvent> {
    const { exit } = event;
    if (!exit.notes.includes(BOX_ENDED_NOTE) || options.signal.aborted) return event;
    if (!(await this.#deps.askDeleted(options))) return event;
    const notes = exit.notes.map((note) => (note === BOX_ENDED_NOTE ? BOX_DELETED_NOTE : note));
    return { ...event, exit: { ...exit, notes } };
  }

  #tell(event: ExitEvent): ExecEvent {
    const notes = [...this.#untold, ...event.exit.notes];
    this.#untold = [];
    return { type: "exit", exit: { ...event.exit, notes } };
  }
}
