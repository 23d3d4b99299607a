/** What the engine's local driver is given for a volume with a quota, and what a container then has to see. Pure. */
import type { VolumeCheck } from "./container-body.js";

const MIB = 1024 * 1024;
/** A project quota is counted in blocks. */
const PROJECT_SLACK = 1.01;

/** What the local driver mounts; it fails where there is no such directory. */
export function bindDriver(source: string): Record<string, string> {
  return { type: "none", o: "bind,nosuid,nodev", device: source };
}

export function projectDriver(quotaMib: number): Record<string, string> {
  return { size: `${quotaMib}M` };
}

export function projectCheck(quotaMib: number): VolumeCheck {
  return { device: null, maxBytes: Math.floor(quotaMib * MIB * PROJECT_SLACK) };
}

/** Whether a volume is one that `bindDriver` made. */
export function isBound(driver: Readonly<Record<string, string>>): boolean {
  return driver["type"] === "none" && driver["device"] !== undefined;
}
