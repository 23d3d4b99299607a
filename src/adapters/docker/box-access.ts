/** What a handle does to its box through the engine: start workers, look up how they ended, clear the box (security §6). */
import type { Duplex } from "node:stream";
import { BOX_HOME } from "../../domain/box.js";
import { ServiceError } from "../../domain/errors.js";
import type { BoxLimits, DiskUse } from "../../domain/exec-outcome.js";
import { describeNoSpace } from "../../domain/no-space.js";
import type { BoxChannel } from "../../ports/box-channel.js";
import type { Clearing, HelperGround } from "../../ports/box-helper.js";
import type { Logger } from "../../ports/logger.js";
import type { CallOptions } from "../../ports/options.js";
import type { VolumeUse } from "../../ports/quota-volumes.js";
import { BoxClearing } from "./box-clearing.js";
import { HELPER_PROGRAM } from "./container-body.js";
import { ContainerLife, unhurried } from "./container-life.js";
import type { EngineCalls, ExecBody } from "./engine-calls.js";
import { ExecChannel } from "./exec-channel.js";
import { TO_WORKER } from "./frame-codec.js";
import { hasStoppedEntry } from "./has-stopped-entry.js";
import { dialCommand, dialEnvironment } from "./helper-body.js";
import type { DialPlan, SocketTransport } from "./socket-transport.js";
import { StreamWorkerLink, type WorkerLink } from "./worker-link.js";
import type { WorkerKind, WorkerScripts } from "./worker-script.js";

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
  readonly #life: ContainerLife;
  readonly #clearing: BoxClearing;

  constructor(deps: BoxAccessDeps) {
    this.#deps = deps;
    this.#life = new ContainerLife(deps);
    this.#clearing = new BoxClearing({
      ...deps,
      life: this.#life,
      isStopped: async () => this.isStopped(unhurried()),
      startSweep: async (body, options) => this.open("commands", body, options),
    });
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
    return this.#life.startedAt;
  }

  async wake(options: CallOptions): Promise<boolean> {
    if ((await this.#life.status(options)) !== "paused") return false;
    await this.#deps.calls.unpauseContainer(this.container, options);
    return true;
  }

  async isStopped(options: CallOptions): Promise<boolean> {
    try {
      return hasStoppedEntry((await this.#deps.calls.listProcesses(this.container, options)) ?? []);
    } catch {
      options.signal.throwIfAborted();
      this.#deps.logger.debug({ container: this.container }, "The engine did not list processes.");
      return false;
    }
  }

  /**
   * Ends all processes of the box user: by a second exec, or by starting the box anew. One at a time.
   * @returns null when the box has ended by itself, and its processes with it
   */
  async clear(): Promise<Clearing | null> {
    return this.#clearing.clear();
  }

  async restart(): Promise<Clearing | null> {
    return this.#clearing.restart();
  }

  /** Starts a worker and hands it the request. @throws ServiceError `box.readiness` when the box does not run */
  async open(kind: WorkerKind, body: object, options: CallOptions): Promise<WorkerLink> {
    const { calls, container, uid, scripts } = this.#deps;
    const source = await scripts.source(kind);
    const execBody = makeExecBody(["python3", "-I", "-S", "-X", "utf8", "-c", source], uid);
    try {
      return await connect(calls, { container, execBody, body }, options);
    } catch (error) {
      throw this.#clearing.noted(error);
    }
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
      throw this.#clearing.noted(readNotRunning(error));
    }
  }

  /** @throws ServiceError `box.engine_unavailable` when the engine cannot tell */
  async findFate(execId: string): Promise<BoxFate> {
    if (!(await this.#life.goesOn())) return { type: "box_ended" };
    const exec = await this.#deps.calls.inspectExec(execId, unhurried());
    if (exec === null)
      throw new ServiceError(
        "box.engine_unavailable",
        "The engine lost track of a command; its outcome is unknown.",
      );
    return !exec.Running && exec.Pid === 0 ? { type: "not_started" } : { type: "worker_ended" };
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
