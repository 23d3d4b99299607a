/** Lets one process at a time do a job; the lock of a process that died does not count. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { say } from "./progress.mjs";

/**
 * @template T
 * @param {string} name
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withLock(name, work) {
  const folder = join(tmpdir(), `berth-locks-${process.getuid?.() ?? 0}`);
  const path = join(folder, name);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  let isAnnounced = false;
  while (!take(path)) {
    const holder = holderOf(path);
    if (holder === null) rmSync(path, { force: true });
    else {
      if (!isAnnounced) say(`Another process (${holder}) is at it; waiting.`);
      isAnnounced = true;
      await sleep(500);
    }
  }
  try {
    return await work();
  } finally {
    rmSync(path, { force: true });
  }
}

/** @param {string} path */
function take(path) {
  try {
    writeFileSync(path, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}

/**
 * @param {string} path
 * @returns {number | null} the process that holds the lock, or null when there is none any more
 */
function holderOf(path) {
  try {
    const pid = Number(readFileSync(path, "utf8"));
    process.kill(pid, 0);
    return pid;
  } catch {
    return null;
  }
}
