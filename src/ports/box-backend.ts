/**
 * An engine that carries boxes: it creates, starts, opens, inspects and removes what the records name (design §7).
 * It knows nothing of keys, tenants' rules or runs. Every call has its own time limit and fails with
 * `box.engine_unavailable` when the engine does not answer; "already there" and "already gone" are no failures.
 * Contract: test/contracts/box-backend.ts, passed by the Docker adapter and by the fake.
 */
import type { BoxSettings } from "../domain/box.js";
import type { BoxControl } from "../domain/box-control.js";
import type { SessionId } from "../domain/ids.js";
import type { BoxHandle, WriteAnswer, WriteRequest } from "./box-handle.js";
import type { CallOptions } from "./options.js";

export interface EngineFacts {
  readonly name: string;
  readonly version: string;
  /** Controls in force as far as the engine tells; what `selfCheck` finds stands above it (box §10). */
  readonly isolation: readonly string[];
  readonly quota: "loop" | "watchdog" | "none";
  /**
   * How boxes are reached: their helper over a socket of this machine, or over an exec stream of the engine, or a worker
   * that the engine starts for every request; null until a box was wanted.
   */
  readonly transport: "socket" | "exec_stream" | "worker" | null;
  /** What the host cannot enforce, one sentence each. */
  readonly warnings: readonly string[];
}

/** Names a box on its engine; everything in it comes from our records. */
export interface BoxPlace {
  readonly sessionId: SessionId;
  /** A box that was made for the pool may be opened and started by the tenant that its session has got since. */
  readonly tenant: string;
  readonly uid: number;
  readonly volume: string;
  readonly container: string;
}

export type ContainerState = "running" | "paused" | "stopped";

export interface OwnedContainer {
  readonly name: string;
  readonly sessionId: string | null;
  readonly uid: number | null;
  readonly state: ContainerState;
}

export interface Owned {
  readonly containers: readonly OwnedContainer[];
  readonly volumes: readonly string[];
}

export interface BoxBackend {
  readonly engine: string;
  /** @throws ServiceError `box.engine_unavailable` when the engine does not answer within 5 s (box §18.1). */
  probe(options: CallOptions): Promise<EngineFacts>;
  /**
   * Proves every control in a box that is made for it by the way of all boxes, and leaves nothing behind (security §4).
   * Costs about as much as a new box. A control that the settings do not ask for has no entry.
   * @throws ServiceError when no such box can be had: with these settings no other runs either
   */
  selfCheck(settings: BoxSettings, options: CallOptions): Promise<readonly BoxControl[]>;
  /** @returns whether the image is there */
  hasImage(image: string, options: CallOptions): Promise<boolean>;
  /** Creates the volume and makes it ready with a short preparation container (box §5.2); repeating it is harmless. */
  prepareWorkspace(
    place: Pick<BoxPlace, "sessionId" | "tenant" | "uid" | "volume">,
    settings: BoxSettings,
    options: CallOptions,
  ): Promise<void>;
  /** Makes the container exist and run with these settings. @returns false when it was running already, or paused */
  start(place: BoxPlace, settings: BoxSettings, options: CallOptions): Promise<boolean>;
  /** @returns null when there is no such container */
  inspect(
    container: string,
    options: CallOptions,
  ): Promise<{ readonly state: ContainerState; readonly startedAt: string } | null>;
  /** Whether the container runs and is what `start` would make at this moment: image, helper and settings alike. */
  isCurrent(place: BoxPlace, settings: BoxSettings, options: CallOptions): Promise<boolean>;
  /** Opens a handle to a running box for one lease. */
  open(place: BoxPlace, options: CallOptions): Promise<BoxHandle>;
  /**
   * The same for a box that this process has opened before, whose helper has stayed connected since: asks the engine
   * nothing. The first answer over the handle proves that the box runs.
   * @param startedAt the life of the container that is meant, as `inspect` said it
   * @returns null where no helper of that life is connected: then `inspect` tells more
   */
  openServed(place: BoxPlace, startedAt: string): BoxHandle | null;
  /**
   * Lets all its processes stand still until the next `start`, which lets them go on where they were; one that does not
   * run stays as it is.
   * @throws ServiceError `box.readiness` when the engine cannot: then they run on
   */
  pause(container: string, options: CallOptions): Promise<void>;
  /**
   * Puts files into a prepared workspace whose box can only read it: owned by root, 0644 unless they say otherwise, created
   * exclusively, one answer for each (security §7.1).
   * @throws ServiceError `box.conflict` while the box runs: a workspace is mounted in one container at a time
   */
  importFiles(
    place: BoxPlace,
    of: { readonly settings: BoxSettings; readonly files: readonly WriteRequest[] },
    options: CallOptions,
  ): Promise<readonly WriteAnswer[]>;
  stop(container: string, options: CallOptions): Promise<void>;
  removeContainer(container: string, options: CallOptions): Promise<void>;
  removeWorkspace(volume: string, options: CallOptions): Promise<void>;
  /**
   * Gives back what workspaces at rest hold of the host, as a crash between the end of a container and the end of its
   * mount leaves it; their files stay. Nothing that a container uses or that is being made ready is touched.
   */
  releaseUnused(options: CallOptions): Promise<void>;
  /** Everything on the engine that carries this service's label (box §11.11). */
  listOwned(options: CallOptions): Promise<Owned>;
  /** Uids held by boxes of any service on the engine (security §3.1). */
  listUids(options: CallOptions): Promise<readonly number[]>;
}
