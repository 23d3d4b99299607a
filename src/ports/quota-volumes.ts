/**
 * File systems of a fixed size on the engine's host, one for each workspace: the kernel bounds what a box can write
 * (box §6.4, §10.5). They are the service's own, named by our records, made before the engine's volume and removed after
 * it. No method opens a path that a box can write. One that is not mounted is never mistaken for one that is.
 */
import type { DiskUse } from "../domain/exec-outcome.js";
import type { CallOptions } from "./options.js";

export interface VolumeSize {
  /** MiB that a box can write at least. */
  readonly quotaMib: number;
  /** Files and directories it can hold at least. */
  readonly entries: number;
}

export interface MountedVolume {
  /** Absolute path of the directory that becomes the workspace; it is there only while the volume is mounted. */
  readonly source: string;
  /** Number of its device, as `stat` says it on the host and in every container. */
  readonly device: number;
  /** Bytes of the whole file system. */
  readonly totalBytes: number;
}

/** What the kernel counts. */
export interface VolumeUse extends DiskUse {
  /** Whether it takes no more bytes or no more entries. */
  readonly isFull: boolean;
}

export interface QuotaVolumes {
  /** Names of all there are, mounted or not, half-made ones included. */
  list(options: CallOptions): Promise<readonly string[]>;
  /** Names of those that are mounted, by whatever process of the service. */
  mounted(options: CallOptions): Promise<readonly string[]>;
  has(name: string, options: CallOptions): Promise<boolean>;
  /**
   * Makes the volume where there is none, enlarges one that is too small and not mounted, and mounts it; repeating it is
   * harmless.
   * @throws ServiceError `box.readiness` when this machine cannot, `box.quota` when its disk is full
   */
  ready(name: string, size: VolumeSize, options: CallOptions): Promise<MountedVolume>;
  /** Whether the volume bounds a box at no more than this. */
  fits(name: string, size: VolumeSize, options: CallOptions): Promise<boolean>;
  /** Keeps the files. Harmless for one that is not mounted or not there. */
  unmount(name: string, options: CallOptions): Promise<void>;
  /** With all its files; their space is the host's again. Harmless for one that is not there. */
  remove(name: string, options: CallOptions): Promise<void>;
  /** @returns null while it is not mounted by this service */
  use(name: string, options: CallOptions): Promise<VolumeUse | null>;
}
