/** How boxes are served: by their helper, over a socket or a stream of the engine, or by workers that the engine starts (design §2). */
import type { BoxSettings } from "../../domain/box.js";
import { ServiceError } from "../../domain/errors.js";
import type { BoxPlace, EngineFacts } from "../../ports/box-backend.js";
import type { BoxHandle } from "../../ports/box-handle.js";
import type { BoxHelper } from "../../ports/box-helper.js";
import type { Clock } from "../../ports/clock.js";
import type { IdSource } from "../../ports/id-source.js";
import type { Logger } from "../../ports/logger.js";
import type { CallOptions } from "../../ports/options.js";
import { BoxAccess } from "./box-access.js";
import type { BoxBodyInput } from "./box-body.js";
import { BoxHelpers } from "./box-helpers.js";
import { type HelperMount, MIB } from "./container-body.js";
import { DockerBoxHandle } from "./docker-box-handle.js";
import type { ContainerView } from "./engine-views.js";
import { HelperVolume } from "./helper-volume.js";
import type { Reserve } from "./host-reserve.js";
import { LABEL, readQuotaMib } from "./labels.js";
import type { ContainerWork } from "./run-to-end.js";
import { SocketTransport } from "./socket-transport.js";
import { WorkerScripts } from "./worker-script.js";
import type { WorkspaceVolumes } from "./workspace-volumes.js";

export interface ServedBoxesDeps {
  readonly work: ContainerWork;
  readonly serviceId: string;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly logger: Logger;
  /** Without one, workers serve. */
  readonly helper?: BoxHelper | null | undefined;
  /** For sockets that helpers dial; without one, exec streams serve. */
  readonly socketDirectory?: string | null | undefined;
  /** Names of all containers of this service. */
  readonly listContainers: (options: CallOptions) => Promise<readonly string[]>;
  readonly seccomp: string;
  readonly volumes: Pick<WorkspaceVolumes, "meter">;
  /** Files and directories of a workspace. */
  readonly entries: number;
  readonly reserve?: Reserve | null | undefined;
}

/** A box as it was looked up. */
export interface ServedGround {
  readonly place: BoxPlace;
  readonly access: BoxAccess;
  readonly hasHelper: boolean;
}

export class ServedBoxes implements AsyncDisposable {
  readonly scripts = new WorkerScripts();
  readonly #deps: ServedBoxesDeps;
  readonly #helpers: BoxHelpers | null;
  readonly #sockets: SocketTransport | null;

  constructor(deps: ServedBoxesDeps) {
    this.#deps = deps;
    const { helper = null, socketDirectory: directory = null, work, ...rest } = deps;
    const hasSockets = helper !== null && directory !== null;
    const sockets = hasSockets ? new SocketTransport({ ...rest, directory }) : null;
    const fill = { ...rest, ...work, sockets };
    this.#sockets = sockets;
    this.#helpers =
      helper === null
        ? null
        : new BoxHelpers({ ...fill, helper, volume: new HelperVolume({ ...fill, image: helper.image }) });
  }

  /** Lets go of the boxes; they run on. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#helpers?.[Symbol.asyncDispose]();
  }

  get transport(): EngineFacts["transport"] {
    return this.#helpers === null ? "worker" : this.#helpers.transport;
  }

  /** One sentence each; empty while all is well. */
  get warnings(): readonly string[] {
    const trouble = this.#helpers?.trouble ?? null;
    return trouble === null ? [] : [`Boxes are served without their helper: ${trouble}`];
  }

  /** @returns null where boxes have to do without a helper */
  async mount(options: CallOptions): Promise<HelperMount | null> {
    return (await this.#helpers?.mount(options)) ?? null;
  }

  /**
   * What a container gets by which it will be served.
   * @throws ServiceError `box.readiness` for a box with a network that has to do without its helper
   */
  async equip(
    container: string,
    { network }: BoxSettings,
    options: CallOptions,
  ): Promise<Pick<BoxBodyInput, "helper" | "channel">> {
    const helper = await this.mount(options);
    if (helper === null && network !== "none") throw this.#noNetwork();
    const channel = helper === null ? null : ((await this.#sockets?.make(container)) ?? null);
    return { helper, channel };
  }

  /** @throws ServiceError `box.readiness` when the box does not run, or has to do without its network */
  async open(place: BoxPlace, view: ContainerView, options: CallOptions): Promise<BoxHandle> {
    const { Labels: labels } = view.Config;
    const access = await this.#access(place, view, options);
    // One that was made without it has nothing to start.
    const hasHelper = labels[LABEL.helper] !== undefined;
    const handle = await this.#lease({ place, access, hasHelper }, options);
    if (handle === null && labels[LABEL.network] !== undefined) throw this.#noNetwork();
    return handle ?? new DockerBoxHandle({ ...this.#deps, access });
  }

  /** A handle by the best way there is. */
  async serve(ground: ServedGround, options: CallOptions): Promise<BoxHandle> {
    return (await this.#lease(ground, options)) ?? new DockerBoxHandle({ ...this.#deps, ...ground });
  }

  /** As `BoxBackend.openServed`. */
  openServed(place: BoxPlace, startedAt: string): BoxHandle | null {
    return this.#helpers?.leaseServed(place, startedAt) ?? null;
  }

  /** The box is about to stand still. */
  suspend(container: string): void {
    this.#helpers?.suspend(container);
  }

  resume(container: string): void {
    this.#helpers?.resume(container);
  }

  /** Ends the helper of a container that is about to go. */
  async drop(container: string): Promise<void> {
    await this.#helpers?.drop(container);
  }

  /** Lets go of a container that is gone. */
  async forget(container: string): Promise<void> {
    await this.#helpers?.forget(container);
  }

  async #lease({ place, access, hasHelper }: ServedGround, options: CallOptions): Promise<BoxHandle | null> {
    return hasHelper ? ((await this.#helpers?.lease(place, access, options)) ?? null) : null;
  }

  async #access(place: BoxPlace, view: ContainerView, options: CallOptions): Promise<BoxAccess> {
    const { work, volumes, entries, reserve } = this.#deps;
    const { Labels: labels } = view.Config;
    const quotaMib = readQuotaMib(labels);
    const canDial = (await this.#sockets?.serves(place.container, labels[LABEL.channel])) ?? false;
    return new BoxAccess({
      ...work,
      scripts: this.scripts,
      sockets: canDial ? this.#sockets : null,
      container: place.container,
      uid: place.uid,
      startedAt: view.State.StartedAt,
      egress: labels[LABEL.network] === undefined ? null : { sessionId: place.sessionId },
      disk: await volumes.meter(place, quotaMib, options),
      isHostFull: async () => (await reserve?.isReached()) ?? false,
      limits: {
        memoryMb: view.HostConfig.Memory / MIB,
        pids: view.HostConfig.PidsLimit ?? 0,
        quotaMib,
        entries,
      },
    });
  }

  /** Without the helper nothing could hold the box to its list of hosts (box §10.6). */
  #noNetwork(): ServiceError {
    const reason = this.#helpers?.trouble ?? "The service is set up without it.";
    return new ServiceError("box.readiness", `A box with a network needs its helper. ${reason}`, {
      hint: "Build the helper with `npm run image -- --target boxd`, or set boxes.network to off.",
    });
  }
}
