/** Removes what a service kept, file systems of workspaces that are still mounted included. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { LoopVolumes } from "../../src/adapters/loop-volumes/loop-volumes.js";

/** @param directory holds the data directory `data` of a service that is gone */
export async function removeServiceDirectory(directory: string): Promise<void> {
  const options = { signal: new AbortController().signal };
  const volumes = new LoopVolumes({ directory: join(directory, "data", "workspaces") });
  for (const name of await volumes.list(options)) await volumes.remove(name, options);
  await rm(directory, { recursive: true, force: true });
}
