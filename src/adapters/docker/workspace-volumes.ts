/**
 * Volumes of workspaces on an engine, with the best disk quota that its host can keep: a file system of its own, or a
 * watch while commands run (box §10.5). Which one is proven once, with a throw-away volume; a volume that was made before
 * stays what it is.
 */
import type { BoxSettings } from "../../domain/box.js";
import { ServiceError } from "../../domain/errors.js";
import { KeyedLock } from "../../lib/keyed-lock.js";
import type { BoxPlace } from "../../ports/box-backend.js";
import type { HelperGround } from "../../ports/box-helper.js";
import type { CallOptions } from "../../ports/options.js";
import type { QuotaVolumes, VolumeSize } from "../../ports/quota-volumes.js";
import type { EngineCalls } from "./engine-calls.js";
import type { Reserve } from "./host-reserve.js";
import { ownerLabels, requireOwner } from "./labels.js";
import type { VolumeCheck } from "./preparation-body.js";
import type { QuotaProbe } from "./quota-probe.js";
import { bindDriver, isBound } from "./volume-driver.js";

export type Workspace = Pick<BoxPlace, "sessionId" | "tenant" | "uid" | "volume">;

export interface WorkspaceVolumesDeps {
  readonly calls: EngineCalls;
  readonly serviceId: string;
  /** Files and directories of a workspace. */
  readonly entries: number;
  /** Null where the service can make no file systems for the engine. */
  readonly volumes: QuotaVolumes | null;
  readonly probe: QuotaProbe;
  readonly reserve?: Reserve | null | undefined;
}

/** Of a container that has no process and holds no mount. */
const AT_REST: ReadonlySet<string> = new Set(["created", "exited", "dead"]);

export class WorkspaceVolumes {
  readonly #deps: WorkspaceVolumesDeps;
  readonly #turns = new KeyedLock<string>();

  constructor(deps: WorkspaceVolumesDeps) {
    this.#deps = deps;
  }

  /**
   * Makes the volume of a workspace, or finds it.
   * @returns what the preparation has to see of it; null when it is a plain directory of the engine's
   * @throws ServiceError `box.quota` for a new one when the host's disk is down to its reserve
   */
  async make(of: Workspace, settings: BoxSettings, options: CallOptions): Promise<VolumeCheck | null> {
    const { calls, volumes, reserve = null } = this.#deps;
    if ((await reserve?.isReached()) === true && !(await this.#exists(of, options))) await reserve?.require();
    if (volumes !== null && (await this.#isLoop(of, settings, options)))
      return this.#makeLoop(volumes, { of, settings }, options);
    const labels = this.#labels(of);
    requireOwner(await calls.createVolume(of.volume, labels, options), labels);
    return null;
  }

  /**
   * Before a box starts: a file system of its own is mounted, whatever happened to the machine in between.
   * @throws ServiceError `box.not_found` when its files are gone
   */
  async attach(of: Workspace, settings: BoxSettings, options: CallOptions): Promise<void> {
    const { calls, volumes } = this.#deps;
    if (volumes === null) return;
    if (await volumes.has(of.volume, options)) {
      await this.#makeLoop(volumes, { of, settings }, options);
      return;
    }
    const view = await calls.findVolume(of.volume, options);
    if (view === null || !isBound(view.Options)) return;
    await calls.removeVolume(of.volume, options);
    throw new ServiceError("box.not_found", "The file system of the workspace is not on this machine.", {
      hint: "Prepare a new workspace; the files of the old one are gone.",
    });
  }

  /** @returns how to ask the kernel what a running box has written; null where the kernel does not bound it */
  async meter(of: Workspace, quotaMib: number, options: CallOptions): Promise<HelperGround["disk"]> {
    const { volumes, entries } = this.#deps;
    const size = { quotaMib, entries };
    if (volumes === null || quotaMib === 0 || !(await volumes.fits(of.volume, size, options))) return null;
    await volumes.ready(of.volume, size, options);
    return async (call) => volumes.use(of.volume, call);
  }

  /** After a container is gone: a workspace at rest holds no device of the host. */
  async release(container: string, options: CallOptions): Promise<() => Promise<void>> {
    const { calls, volumes } = this.#deps;
    if (volumes === null) return async () => undefined;
    const view = await calls.inspectContainer(container, options);
    const names = (view?.Mounts ?? []).flatMap(({ Name: name }) => name ?? []);
    return async () => {
      for (const name of names) if (await volumes.has(name, options)) await volumes.unmount(name, options);
    };
  }

  /** While a container of the volume is made ready or started, nobody takes the mount from under it. */
  async hold(volume: string, options: CallOptions): Promise<Disposable> {
    return this.#turns.acquire(volume, options);
  }

  /**
   * Unmounts what no container uses and nobody holds: a service that was killed leaves such mounts.
   * @throws what the first of them fails with, after all others
   */
  async releaseUnused(options: CallOptions): Promise<void> {
    const { volumes, probe } = this.#deps;
    const mounted = (await volumes?.mounted(options)) ?? [];
    const faults: unknown[] = [];
    for (const name of mounted.filter((one) => !probe.isUsing(one)))
      try {
        await this.#releaseUnused(name, options);
      } catch (error) {
        options.signal.throwIfAborted();
        faults.push(error);
      }
    if (faults.length > 0) throw faults[0];
  }

  /** With all its files; their space is the host's again. */
  async remove(volume: string, options: CallOptions): Promise<void> {
    await this.#deps.calls.removeVolume(volume, options);
    await this.#deps.volumes?.remove(volume, options);
  }

  /** Of this service, without those that only prove something at this moment. */
  async list(label: string, options: CallOptions): Promise<readonly string[]> {
    const { calls, volumes, probe } = this.#deps;
    const onEngine = await calls.listVolumes(label, options);
    const onHost = (await volumes?.list(options)) ?? [];
    return [...new Set([...onEngine, ...onHost])].filter((name) => !probe.isUsing(name));
  }

  async #releaseUnused(name: string, options: CallOptions): Promise<void> {
    using _turn = await this.hold(name, options);
    const users = await this.#deps.calls.listContainers({ volume: [name] }, options);
    if (users.every(({ State: state }) => AT_REST.has(state)))
      await this.#deps.volumes?.unmount(name, options);
  }

  async #exists(of: Workspace, options: CallOptions): Promise<boolean> {
    const { calls, volumes } = this.#deps;
    return ((await volumes?.has(of.volume, options)) ?? false) || calls.hasVolume(of.volume, options);
  }

  async #isLoop(of: Workspace, settings: BoxSettings, options: CallOptions): Promise<boolean> {
    const { calls, volumes } = this.#deps;
    if (await volumes?.has(of.volume, options)) return true;
    if (settings.workspaceQuotaMb === 0 || (await this.#kind(options)) !== "loop") return false;
    const view = await calls.findVolume(of.volume, options);
    return view === null || isBound(view.Options);
  }

  async #makeLoop(
    volumes: QuotaVolumes,
    { of, settings }: { readonly of: Workspace; readonly settings: BoxSettings },
    options: CallOptions,
  ): Promise<VolumeCheck> {
    const { calls, entries } = this.#deps;
    const labels = this.#labels(of);
    const size: VolumeSize = { quotaMib: settings.workspaceQuotaMb, entries };
    const { source, device, totalBytes } = await volumes.ready(of.volume, size, options);
    const driver = bindDriver(source);
    const found = await calls.findVolume(of.volume, options);
    if (found !== null) requireOwner(found.Labels, labels);
    // The data directory was moved: the files are in the image, and the engine's volume is only a name for it.
    if (found !== null && found.Options["device"] !== source) await calls.removeVolume(of.volume, options);
    if (found?.Options["device"] !== source)
      requireOwner(await calls.createVolume(of.volume, labels, { ...options, driver }), labels);
    return { device, maxBytes: totalBytes };
  }

  #labels({ sessionId, tenant }: Workspace): Record<string, string> {
    return ownerLabels({ serviceId: this.#deps.serviceId, sessionId, tenant });
  }

  async #kind(options: CallOptions): Promise<string> {
    return (await this.#deps.probe.outcome(options)).kind;
  }
}
