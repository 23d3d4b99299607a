/** Boxes as containers of a Docker engine (box §18, security §3). */
import type { BoxSettings } from "../../domain/box.js";
import type { BoxControl } from "../../domain/box-control.js";
import { ServiceError } from "../../domain/errors.js";
import { MAX_ENTRIES } from "../../domain/exec-outcome.js";
import { KeyedLock } from "../../lib/keyed-lock.js";
import type { BoxBackend, BoxPlace, ContainerState, EngineFacts, Owned } from "../../ports/box-backend.js";
import type { BoxHandle, WriteAnswer } from "../../ports/box-handle.js";
import type { BoxHelper } from "../../ports/box-helper.js";
import type { Clock } from "../../ports/clock.js";
import type { IdSource } from "../../ports/id-source.js";
import type { Logger } from "../../ports/logger.js";
import type { CallOptions } from "../../ports/options.js";
import type { QuotaVolumes } from "../../ports/quota-volumes.js";
import { makeBoxBody } from "./box-body.js";
import { BoxContainers, mustBeMadeAnew, readState } from "./box-containers.js";
import type { CreateBody } from "./container-body.js";
import { EngineApi, type EngineConnection } from "./engine-api.js";
import { EngineCalls } from "./engine-calls.js";
import { describeEngine } from "./engine-facts.js";
import type { ContainerView } from "./engine-views.js";
import type { Reserve } from "./host-reserve.js";
import { importFiles } from "./import-files.js";
import { LABEL } from "./labels.js";
import { type MountRules, resolveMounts } from "./mount-sources.js";
import { makePreparationBody, WRONG_VOLUME } from "./preparation-body.js";
import { type QuotaMode, QuotaProbe } from "./quota-probe.js";
import { type ContainerWork, removeContainer, runToEnd } from "./run-to-end.js";
import { makeSeccompProfile } from "./seccomp-profile.js";
import { SelfCheck } from "./self-check.js";
import { ServedBoxes } from "./served-boxes.js";
import { WorkspaceVolumes } from "./workspace-volumes.js";

const UNPAUSE_MS = 10_000;
const NO_MOUNTS: MountRules = { allowedRoots: [], ownPlaces: [] };

/** How disk quotas of workspaces are kept (box §10.5). */
export interface QuotaSettings {
  readonly mode: QuotaMode;
  /** Files and directories of a workspace. */
  readonly entries: number;
  /** Of the container that proves the quota at start. */
  readonly image: string;
  /** Makes file systems on the engine's host; null where the engine is on another machine. */
  readonly volumes: QuotaVolumes | null;
  /** What boxes leave of the host's disk; null where that cannot be seen. */
  readonly reserve?: Reserve | null | undefined;
}

export interface DockerBoxBackendDeps {
  readonly connection: EngineConnection;
  /** Names this service on the engine; only what carries it is ours. */
  readonly serviceId: string;
  /** Name of the engine in records and status. */
  readonly engine: string;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly ids: IdSource;
  /** Serves the boxes; without one, or where it cannot be had, the engine starts a worker for every request. */
  readonly helper?: BoxHelper | null | undefined;
  /** What extra mounts may name; nothing if not given. */
  readonly mounts?: MountRules | undefined;
  /** If not given, commands are watched. */
  readonly quota?: QuotaSettings | undefined;
  /** Directory of the service's own for sockets that helpers dial; without one, boxes are served over exec streams. */
  readonly socketDirectory?: string | null | undefined;
}

const WATCHED_QUOTA: QuotaSettings = { mode: "watchdog", entries: MAX_ENTRIES, image: "", volumes: null };

export class DockerBoxBackend implements BoxBackend, AsyncDisposable {
  readonly #deps: DockerBoxBackendDeps;
  readonly #calls: EngineCalls;
  readonly #work: ContainerWork;
  readonly #containers: BoxContainers;
  readonly #served: ServedBoxes;
  readonly #quota: QuotaSettings;
  readonly #probe: QuotaProbe;
  readonly #volumes: WorkspaceVolumes;
  readonly #selfCheck: SelfCheck;
  readonly #starts = new KeyedLock<string>();
  readonly #seccomp = JSON.stringify(makeSeccompProfile());

  constructor(deps: DockerBoxBackendDeps) {
    this.#deps = deps;
    this.#calls = new EngineCalls(new EngineApi(deps.connection));
    this.#work = { ...deps, calls: this.#calls, shortLived: new Set() };
    this.#containers = new BoxContainers({ ...deps, ...this.#work });
    this.#selfCheck = new SelfCheck({ ...deps, calls: this.#calls, boxes: this });
    const { quota = WATCHED_QUOTA } = deps;
    this.#quota = quota;
    this.#probe = new QuotaProbe({ ...deps, ...quota, work: this.#work, seccomp: this.#seccomp });
    this.#volumes = new WorkspaceVolumes({ ...deps, ...quota, calls: this.#calls, probe: this.#probe });
    const listContainers = async (options: CallOptions): Promise<readonly string[]> =>
      (await this.#containers.list(options)).map(({ name }) => name);
    const { entries, reserve } = quota;
    const ground = { entries, reserve, volumes: this.#volumes, listContainers, seccomp: this.#seccomp };
    this.#served = new ServedBoxes({ ...deps, ...ground, work: this.#work });
  }

  /** Lets go of the boxes; they run on. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#served[Symbol.asyncDispose]();
  }

  get engine(): string {
    return this.#deps.engine;
  }

  async probe(options: CallOptions): Promise<EngineFacts> {
    const info = await this.#calls.info(options);
    this.#quota.reserve?.include(info.DockerRootDir);
    const quota = await this.#probe.soon(options);
    const facts = describeEngine(this.engine, { info, version: await this.#calls.version(options), quota });
    const reserve = (await this.#quota.reserve?.warning()) ?? null;
    const { transport, warnings } = this.#served;
    const all = [...facts.warnings, ...warnings, ...(reserve === null ? [] : [reserve])];
    return { ...facts, transport, warnings: all };
  }

  async selfCheck(settings: BoxSettings, options: CallOptions): Promise<readonly BoxControl[]> {
    return this.#selfCheck.run(settings, options);
  }

  async hasImage(image: string, options: CallOptions): Promise<boolean> {
    return (await this.#calls.imageVolumes(image, options)) !== null;
  }

  async prepareWorkspace(
    place: Omit<BoxPlace, "container">,
    settings: BoxSettings,
    options: CallOptions,
  ): Promise<void> {
    const { serviceId, ids } = this.#deps;
    await this.#resolveMounts(settings);
    using _volume = await this.#volumes.hold(place.volume, options);
    const check = await this.#volumes.make(place, settings, options);
    if (await this.#containers.isMounted(place, options)) return;
    const body = makePreparationBody({ serviceId, place, settings, seccomp: this.#seccomp, check });
    const name = `${place.volume}-prep-${ids.randomHex(8)}`;
    const exitCode = await runToEnd(this.#work, { name, body }, options);
    if (exitCode === WRONG_VOLUME)
      throw new ServiceError(
        "box.readiness",
        "The file system of the workspace is not what a box would see.",
        {
          hint: "Check that the service and the engine share their mounts, or set boxes.quota to watchdog.",
        },
      );
    if (exitCode !== 0)
      throw new ServiceError("box.readiness", `The workspace could not be prepared (exit code ${exitCode}).`);
  }

  async start(place: BoxPlace, settings: BoxSettings, options: CallOptions): Promise<boolean> {
    // Engines answer "done" to both of two starts that race; one after the other, the second finds it running.
    using _turn = await this.#starts.acquire(place.container, options);
    const body = await this.#makeBody(place, settings, options);
    using _volume = await this.#volumes.hold(place.volume, options);
    await this.#volumes.attach(place, settings, options);
    const view = await this.#containers.find(place, options);
    if (view === null) await this.#containers.create(place, body, options);
    else if (mustBeMadeAnew(view, body)) await this.#makeAnew(view, { place, body }, options);
    else if (view.State.Status === "paused") {
      await this.#calls.unpauseContainer(place.container, options);
      this.#served.resume(place.container);
      return false;
    }
    const outcome = await this.#calls.startContainer(place.container, options);
    if (outcome === "gone")
      throw new ServiceError("box.readiness", "The container was removed while it was started.", {
        hint: "Try again; the files in /workspace stayed.",
      });
    return outcome === "done";
  }

  async inspect(
    container: string,
    options: CallOptions,
  ): Promise<{ readonly state: ContainerState; readonly startedAt: string } | null> {
    const view = await this.#calls.inspectContainer(container, options);
    return view === null ? null : { state: readState(view.State.Status), startedAt: view.State.StartedAt };
  }

  async isCurrent(place: BoxPlace, settings: BoxSettings, options: CallOptions): Promise<boolean> {
    const view = await this.#containers.find(place, options);
    if (view?.State.Status !== "running") return false;
    const { Labels: wanted } = await this.#makeBody(place, settings, options);
    const { Labels: labels } = view.Config;
    const telling = [LABEL.settings, LABEL.helper, LABEL.channel];
    if (telling.some((name) => labels[name] !== wanted[name])) return false;
    return (await this.#calls.imageId(settings.image, options)) === view.Image;
  }

  async open(place: BoxPlace, options: CallOptions): Promise<BoxHandle> {
    const view = await this.#containers.find(place, options);
    if (view?.State.Status !== "running")
      throw new ServiceError("box.readiness", "The box does not run.", {
        hint: "Start the box before opening it; its files are kept.",
      });
    return this.#served.open(place, view, options);
  }

  openServed(place: BoxPlace, startedAt: string): BoxHandle | null {
    return this.#served.openServed(place, startedAt);
  }

  async pause(container: string, options: CallOptions): Promise<void> {
    // A helper that stands still cannot answer, and must not be taken for a lost one.
    this.#served.suspend(container);
    try {
      await this.#calls.pauseContainer(container, options);
    } catch (error) {
      this.#served.resume(container);
      // What is frozen in part must not stay so.
      await this.#calls.unpauseContainer(container, { signal: AbortSignal.timeout(UNPAUSE_MS) });
      throw error;
    }
  }

  async importFiles(
    place: BoxPlace,
    { settings, files }: Parameters<BoxBackend["importFiles"]>[1],
    options: CallOptions,
  ): Promise<readonly WriteAnswer[]> {
    const { serviceId, ids } = this.#deps;
    if (await this.#containers.isMounted(place, options))
      throw new ServiceError("box.conflict", "The workspace is mounted in a running box.", {
        hint: "Stop the box first.",
      });
    using _volume = await this.#volumes.hold(place.volume, options);
    await this.#volumes.attach(place, settings, options);
    const work = { ...this.#work, ids, served: this.#served };
    return await importFiles(work, { serviceId, place, settings, seccomp: this.#seccomp, files }, options);
  }

  async stop(container: string, options: CallOptions): Promise<void> {
    const release = await this.#volumes.release(container, options);
    await this.#calls.stopContainer(container, options);
    await this.#served.drop(container);
    await release();
  }

  /** Returns when the container is gone, so that its volume can be mounted elsewhere (security §3.1). */
  async removeContainer(container: string, options: CallOptions): Promise<void> {
    const release = await this.#volumes.release(container, options);
    await removeContainer(this.#work, container, options);
    await this.#served.forget(container);
    await release();
  }

  async removeWorkspace(volume: string, options: CallOptions): Promise<void> {
    await this.#volumes.remove(volume, options);
  }

  async releaseUnused(options: CallOptions): Promise<void> {
    await this.#volumes.releaseUnused(options);
  }

  async listUids(options: CallOptions): Promise<readonly number[]> {
    return this.#containers.listUids(options);
  }

  async listOwned(options: CallOptions): Promise<Owned> {
    const volumes = await this.#volumes.list(`${LABEL.service}=${this.#deps.serviceId}`, options);
    const isLasting = (name: string): boolean => !this.#selfCheck.owns(name);
    return {
      containers: (await this.#containers.list(options)).filter(({ name }) => isLasting(name)),
      volumes: volumes.filter(isLasting),
    };
  }

  /** Before the engine hears of a box. @throws ServiceError `box.validation` */
  async #resolveMounts({ extraMounts }: BoxSettings): Promise<BoxSettings["extraMounts"]> {
    return resolveMounts(extraMounts, this.#deps.mounts ?? NO_MOUNTS);
  }

  async #makeBody(place: BoxPlace, settings: BoxSettings, options: CallOptions): Promise<CreateBody> {
    const { serviceId } = this.#deps;
    const extraMounts = await this.#resolveMounts(settings);
    const equipment = await this.#served.equip(place.container, settings, options);
    return makeBoxBody({
      serviceId,
      place,
      settings: { ...settings, extraMounts },
      seccomp: this.#seccomp,
      ...equipment,
    });
  }

  /** The directory in which the helper dials in stays for its successor. @throws ServiceError `box.conflict` when it runs */
  async #makeAnew(
    view: ContainerView,
    { place, body }: { readonly place: BoxPlace; readonly body: CreateBody },
    options: CallOptions,
  ): Promise<void> {
    if (readState(view.State.Status) !== "stopped") throw otherSettings(place.container);
    await removeContainer(this.#work, place.container, options);
    await this.#served.drop(place.container);
    await this.#containers.create(place, body, options);
  }
}

function otherSettings(container: string): ServiceError {
  return new ServiceError("box.conflict", "The box runs with other settings.", {
    hint: "Stop and remove the container, then start it with the settings wanted.",
    details: { container },
  });
}
