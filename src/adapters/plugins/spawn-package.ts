/** Starts the process of a package: a group of its own, nothing of the service's environment, a channel on descriptor 3. */
import { type ChildProcess, spawn } from "node:child_process";
import { kill } from "node:process";
import { Duplex, type Readable } from "node:stream";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { InstalledPackage } from "./scan-packages.js";
import { SIGNS_PER_LIMIT } from "./watch-process.js";

// Plain modules: the same from the sources and from the built service.
const PROGRAM = fileURLToPath(new URL("./child/main.mjs", import.meta.url));
/** The rest is for buffers, code and stacks. */
const HEAP_SHARE = 0.75;

export interface SpawnSettings {
  /** Path of the Node program. */
  readonly execPath: string;
  /** The whole environment, besides what is set for the one package. */
  readonly environment: Readonly<Record<string, string>>;
  readonly packageEnvironment: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly memoryMb: number;
  readonly hangMs: number;
}

export interface SpawnedPackage {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly channel: Duplex;
  readonly outputs: readonly Readable[];
}

export function memoryLimitMb(installed: InstalledPackage, settings: SpawnSettings): number {
  return installed.memoryMb ?? settings.memoryMb;
}

/** @returns null when no process could be made */
export async function spawnPackage(
  installed: InstalledPackage,
  settings: SpawnSettings,
): Promise<SpawnedPackage | null> {
  const heapMb = Math.floor(memoryLimitMb(installed, settings) * HEAP_SHARE);
  const args = [
    `--max-old-space-size=${heapMb}`,
    PROGRAM,
    pathToFileURL(installed.entry).href,
    String(settings.hangMs / SIGNS_PER_LIMIT),
  ];
  const child = spawn(settings.execPath, args, {
    cwd: installed.directory,
    env: { ...settings.environment, ...settings.packageEnvironment[installed.id] },
    stdio: ["pipe", "pipe", "pipe", "pipe"],
    detached: true,
  });
  const isMade = await new Promise<boolean>((resolve) => {
    child.once("spawn", () => resolve(true)).once("error", () => resolve(false));
  });
  // The line whose end tells the process that the service is gone; nothing is ever written to it.
  child.stdin.on("error", () => undefined);
  child.on("error", () => undefined);
  const channel = child.stdio[3];
  if (!isMade || child.pid === undefined || !(channel instanceof Duplex)) return null;
  return { child, pid: child.pid, channel, outputs: [child.stdout, child.stderr] };
}

/** Ends the process and all that it started in its group. */
export function killGroup(pid: number): void {
  try {
    kill(-pid, "SIGKILL");
  } catch {
    // The group is gone already.
  }
}
