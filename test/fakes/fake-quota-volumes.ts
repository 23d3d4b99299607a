/** File systems that exist only as names, for tests of what is done with them. */
import { ServiceError } from "../../src/domain/errors.js";
import type { CallOptions } from "../../src/ports/options.js";
import type { MountedVolume, QuotaVolumes, VolumeSize, VolumeUse } from "../../src/ports/quota-volumes.js";

const MIB = 1024 * 1024;
const DEVICE = 1793;

export class FakeQuotaVolumes implements QuotaVolumes {
  /** All there are, with the MiB they were made for. */
  readonly made = new Map<string, number>();
  readonly mountedNames = new Set<string>();
  /** Names whose mount somebody keeps busy. */
  readonly busy = new Set<string>();
  /** Why the machine can make none; null = it can. */
  fault: string | null = null;

  async list(options: CallOptions): Promise<readonly string[]> {
    await begin(options);
    return [...this.made.keys()];
  }

  async mounted(options: CallOptions): Promise<readonly string[]> {
    await begin(options);
    return [...this.mountedNames];
  }

  async has(name: string, options: CallOptions): Promise<boolean> {
    await begin(options);
    return this.made.has(name);
  }

  async ready(name: string, size: VolumeSize, options: CallOptions): Promise<MountedVolume> {
    await begin(options);
    if (this.fault !== null) throw new ServiceError("box.readiness", this.fault);
    const quotaMib = Math.max(size.quotaMib, this.made.get(name) ?? 0);
    this.made.set(name, quotaMib);
    this.mountedNames.add(name);
    return { source: `/volumes/${name}/mount/workspace`, device: DEVICE, totalBytes: quotaMib * MIB };
  }

  async fits(name: string, size: VolumeSize, options: CallOptions): Promise<boolean> {
    await begin(options);
    const quotaMib = this.made.get(name);
    return quotaMib !== undefined && quotaMib <= size.quotaMib;
  }

  async unmount(name: string, options: CallOptions): Promise<void> {
    await begin(options);
    if (this.busy.has(name)) throw new ServiceError("box.readiness", `The volume ${name} is busy.`);
    this.mountedNames.delete(name);
  }

  async remove(name: string, options: CallOptions): Promise<void> {
    await this.unmount(name, options);
    this.made.delete(name);
  }

  async use(name: string, options: CallOptions): Promise<VolumeUse | null> {
    await begin(options);
    return this.mountedNames.has(name) ? { sizeBytes: MIB, entries: 4, isFull: false } : null;
  }
}

async function begin({ signal }: CallOptions): Promise<void> {
  await Promise.resolve();
  signal.throwIfAborted();
}
