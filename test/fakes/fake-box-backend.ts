/** An engine in memory that passes the box contract; for tests that need boxes and no Docker. */
import { makeExecBody } from "../../src/adapters/docker/exec-request.js";
import type { BoxSettings } from "../../src/domain/box.js";
import type { BoxControl } from "../../src/domain/box-control.js";
import { refusedWorkdir } from "../../src/domain/command-plan.js";
import { ServiceError } from "../../src/domain/errors.js";
import { BOX_ENDED_NOTE } from "../../src/domain/exec-outcome.js";
import { linkSignals } from "../../src/lib/link-signals.js";
import type {
  BoxBackend,
  BoxPlace,
  ContainerState,
  EngineFacts,
  Owned,
} from "../../src/ports/box-backend.js";
import type {
  BoxFiles,
  BoxHandle,
  BoxProcess,
  ExecEvent,
  ExecRequest,
  SpawnRequest,
  WriteAnswer,
  WriteRequest,
} from "../../src/ports/box-handle.js";
import type { CallOptions } from "../../src/ports/options.js";
import { type FakeCall, type FakeCommand, runFakeCommand } from "./fake-box-commands.js";
import { FakeBoxFiles } from "./fake-box-files.js";
import { FakeBoxProcess, FakeInput } from "./fake-box-process.js";
import { FakeTree } from "./fake-box-tree.js";

export interface FakeBoxBackendOptions {
  /** Asked before the built-in commands; null leaves the command to them. */
  readonly commands?: FakeCommand;
  readonly images?: readonly string[];
  /** Bytes that each workspace holds. */
  readonly spaceBytes?: number;
  readonly engine?: string;
}

interface FakeContainer {
  readonly place: BoxPlace;
  readonly settings: BoxSettings;
  state: ContainerState;
  startedAt: string;
  /** Aborts when this life of the container ends. */
  life: AbortController;
}

export class FakeBoxBackend implements BoxBackend {
  readonly engine: string;
  /** What happened so far. */
  readonly counts = {
    volumesCreated: 0,
    preparations: 0,
    containersCreated: 0,
    starts: 0,
    opens: 0,
    execs: 0,
    selfChecks: 0,
  };
  /** Rounds in which unused mounts were given back. */
  releases = 0;
  /** False = every call fails as when the engine does not answer. */
  isAvailable = true;
  /** What a self-check finds, or how it fails. */
  controls: readonly BoxControl[] | ServiceError = [
    { name: "network-none", state: "enforced", detail: "interfaces lo" },
  ];
  /** Uids that other services' boxes hold. */
  readonly foreignUids: number[] = [];
  readonly #options: FakeBoxBackendOptions;
  readonly #volumes = new Map<string, { readonly tree: FakeTree; readonly sessionId: string }>();
  readonly #containers = new Map<string, FakeContainer>();
  /** Lives of containers that were opened, each with its helper connected. */
  #served = new WeakSet<AbortController>();

  constructor(options: FakeBoxBackendOptions = {}) {
    this.#options = options;
    this.engine = options.engine ?? "fake";
  }

  async probe(options: CallOptions): Promise<EngineFacts> {
    await this.#begin(options);
    return {
      name: this.engine,
      version: "1.0.0",
      isolation: ["network-none"],
      quota: "watchdog",
      warnings: [],
      transport: "worker",
    };
  }

  async selfCheck(_settings: BoxSettings, options: CallOptions): Promise<readonly BoxControl[]> {
    await this.#begin(options);
    this.counts.selfChecks += 1;
    if (this.controls instanceof Error) throw this.controls;
    return this.controls;
  }

  async hasImage(image: string, options: CallOptions): Promise<boolean> {
    await this.#begin(options);
    return this.#options.images?.includes(image) ?? !image.startsWith("no-such");
  }

  async prepareWorkspace(
    place: Omit<BoxPlace, "container">,
    _settings: BoxSettings,
    options: CallOptions,
  ): Promise<void> {
    await this.#begin(options);
    const known = this.#volumes.get(place.volume);
    if (known !== undefined && known.sessionId !== place.sessionId) throw notOurs();
    if (known === undefined) this.counts.volumesCreated += 1;
    const { tree } = known ?? { tree: new FakeTree() };
    this.counts.preparations += 1;
    for (const name of [".home", ".tool-results", "inbox", "outbox"]) tree.walk([name], "make");
    this.#volumes.set(place.volume, { tree, sessionId: place.sessionId });
  }

  async start(place: BoxPlace, settings: BoxSettings, options: CallOptions): Promise<boolean> {
    await this.#begin(options);
    const known = this.#findOwn(place);
    if (known !== null && !isSameBox(known.settings, settings)) {
      if (known.state !== "stopped")
        throw new ServiceError("box.conflict", "The box runs with other settings.");
      this.#containers.delete(place.container);
    }
    const container = this.#containers.get(place.container) ?? this.#create(place, settings);
    const wasStopped = container.state === "stopped";
    container.state = "running";
    if (!wasStopped) return false;
    this.counts.starts += 1;
    container.life = new AbortController();
    container.startedAt = new Date(1_700_000_000_000 + this.counts.starts).toISOString();
    return true;
  }

  async inspect(
    name: string,
    options: CallOptions,
  ): Promise<{ readonly state: ContainerState; readonly startedAt: string } | null> {
    await this.#begin(options);
    const container = this.#containers.get(name);
    return container === undefined ? null : { state: container.state, startedAt: container.startedAt };
  }

  async isCurrent(place: BoxPlace, settings: BoxSettings, options: CallOptions): Promise<boolean> {
    await this.#begin(options);
    const container = this.#findOwn(place);
    return container?.state === "running" && isSameBox(container.settings, settings);
  }

  async open(place: BoxPlace, options: CallOptions): Promise<BoxHandle> {
    await this.#begin(options);
    const container = this.#findOwn(place);
    if (container?.state !== "running") throw new ServiceError("box.readiness", "The box does not run.");
    this.counts.opens += 1;
    this.#served.add(container.life);
    return this.#makeHandle(container);
  }

  openServed(place: BoxPlace, startedAt: string): BoxHandle | null {
    const container = this.#containers.get(place.container);
    if (container?.state !== "running" || container.startedAt !== startedAt) return null;
    if (!this.#served.has(container.life) || !isOf(container.place, place)) return null;
    this.counts.opens += 1;
    return this.#makeHandle(container);
  }

  #makeHandle({ place, life }: FakeContainer): FakeBoxHandle {
    return new FakeBoxHandle({
      tree: this.tree(place.volume),
      life: life.signal,
      options: this.#options,
      check: () => this.#check(),
      countExec: () => {
        this.counts.execs += 1;
      },
    });
  }

  async pause(name: string, options: CallOptions): Promise<void> {
    await this.#begin(options);
    const container = this.#containers.get(name);
    if (container?.state === "running") container.state = "paused";
  }

  async importFiles(
    place: BoxPlace,
    { files }: { readonly files: readonly WriteRequest[] },
    options: CallOptions,
  ): Promise<readonly WriteAnswer[]> {
    await this.#begin(options);
    if (this.#findOwn(place)?.state === "running")
      throw new ServiceError("box.conflict", "The workspace is mounted in a running box.");
    const tree = this.tree(place.volume);
    const spaceBytes = this.#options.spaceBytes ?? Number.POSITIVE_INFINITY;
    return new FakeBoxFiles({ tree, spaceBytes, check: () => this.#check() }).write(files, options);
  }

  async stop(name: string, options: CallOptions): Promise<void> {
    await this.#begin(options);
    const container = this.#containers.get(name);
    if (container === undefined) return;
    container.state = "stopped";
    container.life.abort();
  }

  async removeContainer(name: string, options: CallOptions): Promise<void> {
    await this.#begin(options);
    this.killContainer(name);
  }

  async removeWorkspace(volume: string, options: CallOptions): Promise<void> {
    await this.#begin(options);
    const user = [...this.#containers.values()].find(({ place }) => place.volume === volume);
    if (user !== undefined) throw new ServiceError("box.conflict", "The workspace is in use.");
    this.#volumes.delete(volume);
  }

  async releaseUnused(options: CallOptions): Promise<void> {
    await this.#begin(options);
    this.releases += 1;
  }

  async listOwned(options: CallOptions): Promise<Owned> {
    await this.#begin(options);
    const containers = [...this.#containers.values()].map(({ place, state }) => ({
      name: place.container,
      sessionId: place.sessionId,
      uid: place.uid,
      state,
    }));
    return { containers, volumes: [...this.#volumes.keys()] };
  }

  async listUids(options: CallOptions): Promise<readonly number[]> {
    await this.#begin(options);
    return [...this.#containers.values()].map(({ place }) => place.uid).concat(this.foreignUids);
  }

  /** Somebody else removes the container: what runs in it ends. */
  killContainer(name: string): void {
    this.#containers.get(name)?.life.abort();
    this.#containers.delete(name);
  }

  /** Every box is as if nobody had opened it. */
  dropHelpers(): void {
    this.#served = new WeakSet();
  }

  /** What lies in a workspace, for tests that play the box. */
  tree(volume: string): FakeTree {
    const known = this.#volumes.get(volume);
    if (known === undefined) throw new Error(`There is no volume ${volume}.`);
    return known.tree;
  }

  #create(place: BoxPlace, settings: BoxSettings): FakeContainer {
    const volume = this.#volumes.get(place.volume);
    if (volume === undefined)
      throw new ServiceError("box.not_found", "The workspace of the session is not on the engine.");
    this.counts.containersCreated += 1;
    const container: FakeContainer = {
      place,
      settings,
      state: "stopped",
      startedAt: "",
      life: new AbortController(),
    };
    this.#containers.set(place.container, container);
    return container;
  }

  #findOwn(place: BoxPlace): FakeContainer | null {
    const container = this.#containers.get(place.container);
    if (container === undefined) return null;
    if (!isOf(container.place, place)) throw notOurs();
    return container;
  }

  async #begin({ signal }: CallOptions): Promise<void> {
    await Promise.resolve();
    signal.throwIfAborted();
    this.#check();
  }

  #check(): void {
    if (!this.isAvailable)
      throw new ServiceError("box.engine_unavailable", "The engine could not be reached: ECONNREFUSED.");
  }
}

function isOf(made: BoxPlace, asked: BoxPlace): boolean {
  return made.sessionId === asked.sessionId && made.uid === asked.uid;
}

function isSameBox(one: BoxSettings, other: BoxSettings): boolean {
  return shapeOf(one) === shapeOf(other);
}

/** What only affects single commands makes no other box. */
function shapeOf({ execTimeoutSec: _timeout, execMaxTimeoutSec: _max, ...rest }: BoxSettings): string {
  return JSON.stringify(rest);
}

function notOurs(): ServiceError {
  return new ServiceError("box.conflict", "What the engine has under this name is not this box's.");
}

interface FakeHandleDeps {
  readonly tree: FakeTree;
  readonly life: AbortSignal;
  readonly options: FakeBoxBackendOptions;
  readonly check: () => void;
  readonly countExec: () => void;
}

class FakeBoxHandle implements BoxHandle {
  readonly files: BoxFiles;
  readonly #deps: FakeHandleDeps;
  readonly #closed = new AbortController();

  constructor(deps: FakeHandleDeps) {
    this.#deps = deps;
    this.files = new FakeBoxFiles({
      tree: deps.tree,
      spaceBytes: deps.options.spaceBytes ?? Number.POSITIVE_INFINITY,
      check: () => {
        deps.check();
        if (deps.life.aborted) throw new ServiceError("box.readiness", "The box does not run.");
      },
    });
  }

  async *exec(request: ExecRequest, { signal }: CallOptions): AsyncIterable<ExecEvent> {
    this.#begin(request, signal);
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(), request.timeoutMs);
    using stop = linkSignals(signal, limit.signal, this.#deps.life, this.#closed.signal);
    const call = { ...request, tree: this.#deps.tree, signal: stop.signal };
    const events = (this.#deps.options.commands?.(call) ?? runFakeCommand(call))[Symbol.asyncIterator]();
    try {
      for (;;) {
        const event = await nextOrStop(events, stop.signal);
        if (event === null) break;
        yield event;
        if (event.type === "exit") return;
      }
      yield stoppedExit(this.#stopStatus(signal, limit.signal));
    } finally {
      clearTimeout(timer);
      void events.return?.();
    }
  }

  async spawn(request: SpawnRequest, { signal }: CallOptions): Promise<BoxProcess> {
    this.#begin({ ...request, timeoutMs: 1 }, signal);
    await Promise.resolve();
    signal.throwIfAborted();
    const [terminated, killed, input] = [new AbortController(), new AbortController(), new FakeInput()];
    const ends = [terminated.signal, killed.signal, this.#deps.life, this.#closed.signal];
    let size = request.terminal;
    const describeStop = (): ExecEvent => {
      if (killed.signal.aborted || this.#closed.signal.aborted) return stoppedExit("cancelled");
      return stoppedExit("killed", terminated.signal.aborted ? TERM_NOTE : BOX_ENDED_NOTE);
    };
    return new FakeBoxProcess({
      events: this.#run({ ...request, input, size: () => size }, ends, describeStop),
      input,
      terminated,
      killed,
      resize: (other) => {
        size = other;
      },
    });
  }

  /** What a process says until it ends or is stopped. */
  async *#run(
    of: SpawnRequest & Pick<FakeCall, "input" | "size">,
    ends: readonly AbortSignal[],
    describeStop: () => ExecEvent,
  ): AsyncGenerator<ExecEvent, void> {
    using stop = linkSignals(...ends);
    const call = { ...of, timeoutMs: 0, tree: this.#deps.tree, signal: stop.signal };
    const events = (this.#deps.options.commands?.(call) ?? runFakeCommand(call))[Symbol.asyncIterator]();
    try {
      for (;;) {
        const event = await nextOrStop(events, stop.signal);
        if (event === null) break;
        yield event;
        if (event.type === "exit") return;
      }
      yield describeStop();
    } finally {
      void events.return?.();
    }
  }

  #begin(request: ExecRequest, signal: AbortSignal): void {
    makeExecBody(request, { quotaMib: 0 });
    signal.throwIfAborted();
    this.#deps.check();
    if (this.#closed.signal.aborted)
      throw new ServiceError("box.readiness", "The box was given back already.");
    if (this.#deps.life.aborted) throw new ServiceError("box.readiness", "The box does not run.");
    this.#makeWorkdir(request.workdir);
    this.#deps.countExec();
  }

  #makeWorkdir(workdir: string): void {
    const made = this.#deps.tree.walk(workdir.split("/").slice(2), "make");
    if (!made.ok) throw refusedWorkdir(workdir, made.fault);
  }

  #stopStatus(signal: AbortSignal, limit: AbortSignal): "cancelled" | "timed_out" | "killed" {
    if (signal.aborted || this.#closed.signal.aborted) return "cancelled";
    return limit.aborted ? "timed_out" : "killed";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed.abort();
    await Promise.resolve();
  }
}

const TERM_NOTE = "The command was ended by signal 15 (SIGTERM).";

function stoppedExit(status: "cancelled" | "timed_out" | "killed", note = `It was ${status}.`): ExecEvent {
  return {
    type: "exit",
    exit: { status, exitCode: null, durationMs: 1, leftovers: 0, notes: [note] },
  };
}

/** @returns null when the command is to end before it has something to say */
async function nextOrStop(events: AsyncIterator<ExecEvent>, signal: AbortSignal): Promise<ExecEvent | null> {
  if (signal.aborted) return null;
  return new Promise((resolve, reject) => {
    const onAbort = (): void => resolve(null);
    signal.addEventListener("abort", onAbort, { once: true });
    events
      .next()
      .then((step) => resolve(step.done === true || signal.aborted ? null : step.value))
      .catch(reject)
      .finally(() => signal.removeEventListener("abort", onAbort));
  });
}
