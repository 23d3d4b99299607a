/** What the engine's local driver is given for a workspace with a file system of its own. Pure. */

/** What the local driver mounts; it fails where there is no such directory. */
export function bindDriver(source: string): Record<string, string> {
  return { type: "none", o: "bind,nosuid,nodev", device: source };
}

/** Whether a volume is one that `bindDriver` made. */
export function isBound(driver: Readonly<Record<string, string>>): boolean {
  return driver["type"] === "none" && driver["device"] !== undefined;
}
