/** What a handle does to its box through the engine: start workers, look up how they ended, clear the box (security §6). */
import type { Duplex } from "node:stream";
import { BOX_HOME } from "../../domain/box.js";
import { ServiceError } from "../../domain/errors.js";
import type { BoxCounters, BoxLimits, DiskUse } from "../../domain/exec-outcome.js";
import { describeNoSpace } from "../../domain/no-space.js";
import { delay } from "../../lib/delay.js";
import { StallGuard } from "../../lib/stall-guard.js";
import type { BoxChannel } from "../../ports/box-channel.js";
import type { Clearing, HelperGround } from "../../ports/box-helper.js";
import type { Logger } from "../../ports/logger.js";
import type { CallOptions } from "../../ports/options.js";
import type { VolumeUse } from "../../ports/quota-volumes.js";
import { HELPER_PROGRAM } from "./container-body.js";
import type { EngineCalls, ExecBody } from "./engine-calls.js";
import { ExecChannel } from "./exec-channel.js";
import { FROM_WORKER, TO_WORKER } from "./frame-codec.js";
import { dialCommand, dialEnvironment } from "./helper-body.js";
import type { DialPlan, SocketTransport } from "./socket-transport.js";
import { StreamWorkerLink, type WorkerLink } from "./worker-link.js";
import type { WorkerKind, WorkerScripts } from "./worker-script.js";
import { readPayload, sweepSchema } from "./worker-wire.js";

const SWEEP_MS = 4000;
const SWEEP_ANSWER_MS = SWEEP_MS + 2000;
/** A container that is being stopped has ended after so long. */
const SETTLING_MS = 1500;
const SETTLING_LOOKS = 5;

export interface BoxAccessDeps {
  readonly calls: EngineCalls;
  readonly scripts: WorkerScripts;
  readonly logger: Logger;
  readonly container: string;
  readonly uid: number;
  readonly limits: BoxLimits;
  /** As in `HelperGround`. */
  readonly disk?: HelperGround["disk"];
  readonly isHostFull?: HelperGround["isHostFull"];
  readonly startedAt: string;
  /** Null for a box that was made without a place to dial in. */
  readonly sockets?: SocketTransport | null | undefined;
  /** Whose box it is, where the egress broker carries its network. */
  readonly egress?: HelperGround["egress"];
}

/** What became of a command whose worker went silent. */
export type BoxFate =
  /** The container ended, or another life of it began: none of its processes is left. */
  | { readonly type: "box_ended" }
  /** The worker never ran. */
  | { readonly type: "not_started" }
  | { readonly type: "worker_ended" };

export class BoxAccess implements HelperGround {
  readonly #deps: BoxAccessDeps;
  #startedAt: string;
  #clearing: Promise<Clearing | null> | null = null;

  constructor(deps: BoxAccessDeps) {
    this.#deps = deps;
    this.#startedAt = deps.startedAt;
  }

  get container(): string {
    return this.#deps.container;
  }

  get limits(): BoxLimits {
    return this.#deps.limits;
  }

  get disk(): HelperGround["disk"] {
    return this.#deps.disk;
  }

  get isHostFull(): HelperGround["isHostFull"] {
    return this.#deps.isHostFull;
  }

  /** What is left to watch from inside: nothing where the kernel bounds the workspace. */
  get watchedLimits(): BoxLimits {
    return (this.disk ?? null) === null ? this.limits : { ...this.limits, quotaMib: 0 };
  }

  /** @returns what a workspace that the kernel bounds holds when it is full; null for all others */
  async fullDisk(): Promise<DiskUse | null> {
    const use = await this.#use();
    return use?.isFull === true ? use : null;
  }

  /** Why a file of this size did not fit: limit, use and what to do. */
  async explainNoSpace(sizeBytes: number): Promise<string> {
    const isHostFull = (await this.isHostFull?.()) ?? false;
    return describeNoSpace({ sizeBytes, use: await this.#use(), isHostFull, limits: this.limits });
  }

  /** @returns null where the kernel does not count it, or cannot tell */
  async #use(): Promise<VolumeUse | null> {
    try {
      return (await this.disk?.(unhurried())) ?? null;
    } catch (error) {
      this.#deps.logger.warn({ container: this.container }, "The use of a workspace is unknown.", error);
      return null;
    }
  }

  get egress(): HelperGround["egress"] {
    return this.#deps.egress;
  }

  /** When the life of the container began that this is about, as the engine says it. */
  get startedAt(): string {
    return this.#startedAt;
  }

  async wake(options: CallOptions): Promise<boolean> {
    if ((await this.#status(options)) !== "paused") return false;
    await this.#deps.calls.unpauseContainer(this.container, options);
    return true;
  }

  /** Starts a worker and hands it the request. @throws ServiceError `box.readiness` when the box does not run */
  async open(kind: WorkerKind, body: object, options: CallOptions): Promise<WorkerLink> {
    const { calls, container, uid, scripts } = this.#deps;
    const source = await scripts.source(kind);
    const execBody = makeExecBody(["python3", "-I", "-S", "-X", "utf8", "-c", source], uid);
    return connect(calls, { container, execBody, body }, options);
  }

  async openChannel(options: CallOptions): Promise<BoxChannel> {
    const { container, uid, sockets = null } = this.#deps;
    const dial = async (plan: DialPlan): Promise<Duplex> => {
      const body = makeExecBody(dialCommand(), uid);
      const env = [...body.Env, ...dialEnvironment(plan)];
      return this.#startExec({ ...body, Env: env, AttachStdin: false }, options);
    };
    return (await sockets?.dial(container, dial, options)) ?? this.#openExecChannel(options);
  }

  async #openExecChannel(options: CallOptions): Promise<BoxChannel> {
    const body = makeExecBody([HELPER_PROGRAM, "serve"], this.#deps.uid);
    return new ExecChannel(await this.#startExec(body, options));
  }

  async #startExec(body: ExecBody, options: CallOptions): Promise<Duplex> {
    const { calls, container } = this.#deps;
    try {
      return await calls.startExec(await calls.createExec(container, body, options), options);
    } catch (error) {
      options.signal.throwIfAborted();
      throw readNotRunning(error);
    }
  }

  /** @throws ServiceError `box.engine_unavailable` when the engine cannot tell */
  async findFate(execId: string): Promise<BoxFate> {
    if (!(await this.#livesOn())) return { type: "box_ended" };
    const exec = await this.#deps.calls.inspectExec(execId, unhurried());
    if (exec === null)
      throw new ServiceError(
        "box.engine_unavailable",
        "The engine lost track of a command; its outcome is unknown.",
      );
    return !exec.Running && exec.Pid === 0 ? { type: "not_started" } : { type: "worker_ended" };
  }

  /**
   * Ends all processes of the box user: by a second exec, or by starting the box anew. One at a time.
   * @returns null when the box has ended by itself, and its processes with it
   */
  async clear(): Promise<Clearing | null> {
    this.#clearing ??= this.#clear().finally(() => {
      this.#clearing = null;
    });
    return this.#clearing;
  }

  async restart(): Promise<Clearing | null> {
    return (await this.#livesOn()) ? this.#restart() : null;
  }

  async #clear(): Promise<Clearing | null> {
    if (!(await this.#livesOn())) return null;
    try {
      return { rung: 2, counters: await this.#sweep() };
    } catch (error) {
      // A box that is just being stopped by somebody else takes no exec either, and must not come back.
      if (!(await this.#staysAlive())) return null;
      this.#deps.logger.warn({ container: this.container }, "The box is started anew to clear it.", error);
      return this.#restart();
    }
  }

  /** One that somebody has paused lives, and goes on: whoever asks needs it (box §11.4). */
  async #livesOn(): Promise<boolean> {
    const status = await this.#status(unhurried());
    if (status === "paused") await this.#deps.calls.unpauseContainer(this.container, unhurried());
    return status === "paused" || status === "running";
  }

  /** @returns null when there is no such container, or another life of it */
  async #status(options: CallOptions): Promise<string | null> {
    const view = await this.#deps.calls.inspectContainer(this.container, options);
    return view?.State.StartedAt === this.#startedAt ? view.State.Status : null;
  }

  /** The engine says "running" of a container until the last of its processes is taken. */
  async #staysAlive(): Promise<boolean> {
    for (let look = 0; look < SETTLING_LOOKS; look += 1) {
      if (!(await this.#livesOn())) return false;
      await delay(SETTLING_MS / SETTLING_LOOKS, unhurried());
    }
    return this.#livesOn();
  }

  async #sweep(): Promise<BoxCounters> {
    const options = unhurried();
    const body = { op: "sweep", timeout_ms: SWEEP_MS };
    using link = await this.open("commands", body, options);
    using guard = new StallGuard(() => link[Symbol.dispose](), SWEEP_ANSWER_MS, options);
    guard.arm();
    const frame = await link.next();
    if (frame?.type !== FROM_WORKER.answer)
      throw new ServiceError("box.readiness", "The box did not answer to a sweep.");
    const { left, ...counters } = readPayload(sweepSchema, frame);
    if (left > 0) throw new ServiceError("box.readiness", `A sweep left ${left} processes in the box.`);
    return counters;
  }

  /** @returns null when the container is gone or going */
  async #restart(): Promise<Clearing | null> {
    const { calls, container } = this.#deps;
    const options = unhurried();
    await calls.killContainer(container, options);
    if ((await calls.startContainer(container, options)) === "gone") return null;
    const view = await calls.inspectContainer(container, options);
    if (view !== null) this.#startedAt = view.State.StartedAt;
    return { rung: 3, counters: null };
  }
}

/** Of a program that the service talks to, as the box user. */
export function makeExecBody(argv: readonly string[], uid: number): ExecBody {
  return {
    Cmd: argv,
    User: `${uid}:${uid}`,
    WorkingDir: "/",
    Env: [`HOME=${BOX_HOME}`, "LANG=C.UTF-8"],
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    Tty: false,
  };
}

async function connect(
  calls: EngineCalls,
  worker: { readonly container: string; readonly execBody: ExecBody; readonly body: object },
  options: CallOptions,
): Promise<WorkerLink> {
  let link: StreamWorkerLink | null = null;
  try {
    const id = await calls.createExec(worker.container, worker.execBody, options);
    link = new StreamWorkerLink(id, await calls.startExec(id, options));
    await link.send(TO_WORKER.request, 0, Buffer.from(JSON.stringify(worker.body)));
    return link;
  } catch (error) {
    link?.[Symbol.dispose]();
    options.signal.throwIfAborted();
    throw readNotRunning(error);
  }
}

/** Clearing goes on after the caller gave up; the limits of the single calls end it. */
function unhurried(): CallOptions {
  return { signal: new AbortController().signal };
}

function readNotRunning(error: unknown): ServiceError {
  if (!(error instanceof ServiceError))
    return new ServiceError("box.engine_unavailable", "The engine dropped the connection to the box.", {
      cause: error,
    });
  if (error.code !== "box.conflict" && error.code !== "box.not_found") return error;
  return new ServiceError("box.readiness", "The box does not run.", {
    hint: "Acquire the box again; its files are kept.",
    cause: error,
  });
}
