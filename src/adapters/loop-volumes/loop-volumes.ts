/**
 * Quota volumes as ext4 images that are mounted over loop devices (security §4). A volume is a directory with `image`, the
 * file system, and `mount`, where it is mounted; the workspace is a directory within, so that an engine finds nothing to
 * bind while it is not mounted. The loop device goes with the mount by itself.
 */
import { mkdir, open, readdir, rename, rm, rmdir, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { ServiceError } from "../../domain/errors.js";
import { delay } from "../../lib/delay.js";
import { KeyedLock } from "../../lib/keyed-lock.js";
import type { CallOptions } from "../../ports/options.js";
import type { MountedVolume, QuotaVolumes, VolumeSize, VolumeUse } from "../../ports/quota-volumes.js";
import { runHostCommand } from "./host-command.js";
import { FULL_MIB, formatArguments, imageBytes, OWN_ENTRIES } from "./image-size.js";

/** What is deleted in a box is the host's again within seconds, and nothing in it gives rights on the host. */
const MOUNT_OPTIONS = "loop,nosuid,nodev,discard,errors=remount-ro";
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/u;
const DETACHED_MS = 5000;
const LOOK_AGAIN_MS = 50;
const FULL_BYTES = FULL_MIB * 1024 * 1024;

export interface LoopVolumesDeps {
  /** The service's own directory on the engine's host; made if it is missing. */
  readonly directory: string;
}

export class LoopVolumes implements QuotaVolumes {
  readonly #directory: string;
  readonly #turns = new KeyedLock<string>();
  /** Device of what this process has seen mounted. */
  readonly #devices = new Map<string, number>();

  constructor({ directory }: LoopVolumesDeps) {
    this.#directory = directory;
  }

  async list(options: CallOptions): Promise<readonly string[]> {
    options.signal.throwIfAborted();
    const names = await orNull(readdir(this.#directory));
    return (names ?? []).filter((name) => NAME.test(name));
  }

  async mounted(options: CallOptions): Promise<readonly string[]> {
    const names = await this.list(options);
    const devices = await Promise.all(names.map(async (name) => mountedDevice(this.#places(name))));
    return names.filter((_name, index) => (devices[index] ?? null) !== null);
  }

  async has(name: string, options: CallOptions): Promise<boolean> {
    options.signal.throwIfAborted();
    return (await orNull(stat(this.#places(name).image))) !== null;
  }

  async ready(name: string, size: VolumeSize, options: CallOptions): Promise<MountedVolume> {
    using _turn = await this.#turns.acquire(name, options);
    const places = this.#places(name);
    await saySpace(mkdir(places.mount, { recursive: true, mode: 0o700 }));
    const found = await orNull(stat(places.image));
    if (found === null) await makeImage(places, size, options);
    const isSmall = found !== null && found.size < imageBytes(size);
    const mounted = await mountedDevice(places);
    if (isSmall && mounted === null) await enlarge(places, size, options);
    const device = mounted ?? (await mountImage(places, options));
    this.#devices.set(name, device);
    // Only within what is mounted: on the mount point it would be a plain directory of the host.
    await mkdir(places.source, { recursive: true, mode: 0o700 });
    const { blocks, bsize } = await statfs(places.mount);
    return { source: places.source, device, totalBytes: blocks * bsize };
  }

  async fits(name: string, size: VolumeSize, options: CallOptions): Promise<boolean> {
    options.signal.throwIfAborted();
    const image = await orNull(stat(this.#places(name).image));
    return image !== null && image.size <= imageBytes(size);
  }

  async unmount(name: string, options: CallOptions): Promise<void> {
    using _turn = await this.#turns.acquire(name, options);
    await this.#unmount(name, options);
  }

  async remove(name: string, options: CallOptions): Promise<void> {
    using _turn = await this.#turns.acquire(name, options);
    await this.#unmount(name, options);
    const { root, mount, image } = this.#places(name);
    await rm(image, { force: true });
    await rm(`${image}.new`, { force: true });
    // Not recursive: what is not empty here is not ours to delete.
    await orNull(rmdir(mount));
    await orNull(rmdir(root));
  }

  async use(name: string, options: CallOptions): Promise<VolumeUse | null> {
    options.signal.throwIfAborted();
    const { mount } = this.#places(name);
    const device = this.#devices.get(name);
    if (device === undefined || (await orNull(stat(mount)))?.dev !== device) return null;
    const { blocks, bfree, bavail, bsize, files, ffree } = await statfs(mount);
    return {
      sizeBytes: (blocks - bfree) * bsize,
      entries: Math.max(0, files - ffree - OWN_ENTRIES),
      isFull: bavail * bsize < FULL_BYTES || ffree === 0,
    };
  }

  async #unmount(name: string, options: CallOptions): Promise<void> {
    this.#devices.delete(name);
    const places = this.#places(name);
    // A crash of the service may have left several, one over the other.
    while ((await mountedDevice(places)) !== null)
      await runHostCommand("umount", ["--", places.mount], options);
  }

  /** @throws ServiceError `box.validation` for a name that no record of ours has */
  #places(name: string): Places {
    if (!NAME.test(name)) throw new ServiceError("box.validation", "The workspace has no usable name.");
    const root = join(this.#directory, name);
    const mount = join(root, "mount");
    return { root, mount, image: join(root, "image"), source: join(mount, "workspace") };
  }
}

interface Places {
  readonly root: string;
  readonly image: string;
  readonly mount: string;
  readonly source: string;
}

/** An image that has its name is whole. */
async function makeImage({ image }: Places, size: VolumeSize, options: CallOptions): Promise<void> {
  const draft = `${image}.new`;
  await rm(draft, { force: true });
  await resize(draft, "wx", imageBytes(size));
  await runHostCommand("mkfs.ext4", formatArguments(draft, size), options);
  await rename(draft, image);
}

async function mountImage(places: Places, options: CallOptions): Promise<number> {
  const args = ["-t", "ext4", "-o", MOUNT_OPTIONS, "--", places.image, places.mount];
  try {
    await runHostCommand("mount", args, options);
  } catch {
    options.signal.throwIfAborted();
    // A machine that lost its power may have left it in need of a repair; what it says counts less than whether it helped.
    await runHostCommand("e2fsck", ["-p", places.image], options).catch(() => undefined);
    await runHostCommand("mount", args, options);
  }
  const device = await mountedDevice(places);
  if (device === null)
    throw new ServiceError("box.readiness", "The file system of the workspace could not be mounted.");
  return device;
}

/** While nobody has it mounted. */
async function enlarge({ image }: Places, size: VolumeSize, options: CallOptions): Promise<void> {
  await untilDetached(image, options);
  await resize(image, "r+", imageBytes(size));
  await runHostCommand("e2fsck", ["-f", "-p", image], options);
  await runHostCommand("resize2fs", [image], options);
}

/**
 * The namespace of a container that was killed may hold the image for a moment longer than its mount is seen: two who
 * write into it would destroy it.
 * @throws ServiceError `box.readiness` when somebody still has it after some seconds
 */
async function untilDetached(image: string, options: CallOptions): Promise<void> {
  const lookUntil = performance.now() + DETACHED_MS;
  while ((await runHostCommand("losetup", ["-j", image], options)) !== "") {
    if (performance.now() > lookUntil)
      throw new ServiceError("box.readiness", "The file system of the workspace is still in use elsewhere.", {
        hint: "Try again; it grows as soon as nothing has it mounted.",
      });
    await delay(LOOK_AGAIN_MS, options);
  }
}

/** Takes no space: the file has holes only. */
async function resize(image: string, flags: "wx" | "r+", bytes: number): Promise<void> {
  await using file = await saySpace(open(image, flags, 0o600));
  await saySpace(file.truncate(bytes));
}

/** @returns null when nothing is mounted there */
async function mountedDevice({ root, mount }: Places): Promise<number | null> {
  const [above, at] = await Promise.all([orNull(stat(root)), orNull(stat(mount))]);
  return above === null || at === null || above.dev === at.dev ? null : at.dev;
}

const codeSchema = z.object({ code: z.string() });

async function orNull<Value>(work: Promise<Value>): Promise<Value | null> {
  try {
    return await work;
  } catch (error) {
    const code = codeSchema.safeParse(error);
    if (code.success && ["ENOENT", "ENOTDIR", "ENOTEMPTY"].includes(code.data.code)) return null;
    throw error;
  }
}

/** @throws ServiceError `box.quota` when the disk of the host is full */
async function saySpace<Value>(work: Promise<Value>): Promise<Value> {
  try {
    return await work;
  } catch (error) {
    const code = codeSchema.safeParse(error);
    if (code.success && ["ENOSPC", "EDQUOT"].includes(code.data.code))
      throw new ServiceError("box.quota", "The disk that keeps the workspaces is full.", {
        hint: "Free space on the machine of the engine.",
        cause: error,
      });
    throw error;
  }
}
