/**
 * Directories of the service in which it listens for the helpers of boxes: one per container, mounted into it, below one that
 * nobody else can enter (security §3.2). Their names follow from that one and the container, so that a restarted service
 * finds them again and a moved one does not take them for its own.
 */
import { createHash } from "node:crypto";
import { chmod, lstat, mkdir, readdir, realpath, rm } from "node:fs/promises";
import { join } from "node:path";

/** What an address of a unix socket can hold, without its closing NUL. */
const MAX_ADDRESS_BYTES = 107;
const NAME_DIGITS = 24;
/** Only one's own box reaches it, by its mount; it may pass through and see nothing. */
const PLACE_MODE = 0o711;
/** Short, because addresses are. */
export const SOCKET_NAME = "s";

/** A directory that is mounted into a box. */
export interface SocketPlace {
  readonly name: string;
  /** Real path on this machine. */
  readonly directory: string;
  /** Where the service listens in it. */
  readonly socketPath: string;
}

export class SocketPlaces {
  readonly #base: string;

  private constructor(base: string) {
    this.#base = base;
  }

  /** @throws an error that says why no socket can be made there */
  static async open(directory: string): Promise<SocketPlaces> {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const base = await realpath(directory);
    await chmod(base, 0o700);
    const places = new SocketPlaces(base);
    const { socketPath } = places.#locate("0".repeat(NAME_DIGITS));
    if (Buffer.byteLength(socketPath) > MAX_ADDRESS_BYTES)
      throw new Error("The path of the data directory is too long for a socket below it.");
    return places;
  }

  nameOf(container: string): string {
    const text = JSON.stringify([this.#base, container]);
    return createHash("sha256").update(text).digest("hex").slice(0, NAME_DIGITS);
  }

  /** Makes the container's directory where it is missing. @throws an error when something else stands there */
  async make(container: string): Promise<SocketPlace> {
    const place = this.#locate(this.nameOf(container));
    await mkdir(place.directory, { recursive: true, mode: PLACE_MODE });
    const info = await lstat(place.directory);
    if (!info.isDirectory() || (await realpath(place.directory)) !== place.directory)
      throw new Error("Something else stands where a box's socket belongs.");
    await chmod(place.directory, PLACE_MODE);
    return place;
  }

  async remove(container: string): Promise<void> {
    await rm(this.#locate(this.nameOf(container)).directory, { recursive: true, force: true });
  }

  /** Removes the directories of all other containers: those of boxes that are gone. */
  async keepOnly(containers: readonly string[]): Promise<void> {
    const kept = new Set(containers.map((container) => this.nameOf(container)));
    for (const name of await readdir(this.#base))
      if (!kept.has(name)) await rm(join(this.#base, name), { recursive: true, force: true });
  }

  #locate(name: string): SocketPlace {
    const directory = join(this.#base, name);
    return { name, directory, socketPath: join(directory, SOCKET_NAME) };
  }
}
