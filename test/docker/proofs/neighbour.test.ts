/** One box does its worst, another one beside it works on, and the limit that stopped the first is named (box §10.5, §10.8). */
import { statfs } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import type { ExecExit } from "../../../src/domain/box.js";
import type { BoxHandle } from "../../../src/ports/box-handle.js";
import { aCommand, run } from "../../contracts/box-backend.js";
import { FOREVER, hasEngine, TestEngine } from "../../support/engine.js";
import { IS_FULL, percentile, prove, sized } from "../../support/proof.js";
import { BOMBS } from "../../support/victims.js";

const QUOTA_MIB = 256;
const ENTRIES = sized(20_000, 100_000);
/** What a watchdog may be late by, with the fastest writer (security §4). */
const OVERSHOOT_MIB = 700;
/** What everybody else on the machine may write meanwhile. */
const OTHERS_MIB = 4096;
const MIB = 1024 * 1024;
const QUIET_MS = sized(1000, 10_000);
const PAUSE_MS = 20;
const MOST = 2;
/** A neighbour that waits longer than this for `true` is not served at all. */
const HANGS_MS = 20_000;

const rootSchema = z.object({ DockerRootDir: z.string() });

interface Bully {
  readonly text: string;
  readonly timeoutMs: number;
  readonly note: RegExp;
}

const LONG_MS = sized(2000, 15_000);
const PIDS = /The limit of 128 processes was reached/;
const MEMORY = /The memory limit of 256 MiB was reached/;
const TIME = /The command reached its time limit/;
const QUOTA = /The workspace quota of 256 MiB was reached/;
const BULLIES: Readonly<Record<string, Bully>> = {
  "a fork bomb of a shell": { text: BOMBS["of a shell"] ?? "", timeoutMs: LONG_MS, note: PIDS },
  "a fork bomb of processes": { text: BOMBS["of processes"] ?? "", timeoutMs: LONG_MS, note: PIDS },
  "a memory bomb": {
    text: "while :; do python3 -c 'b = bytearray(10 << 30)'; python3 -c 'b = bytearray(200 << 20)' & python3 -c 'b = bytearray(200 << 20)'; done",
    timeoutMs: Math.max(LONG_MS, 4000),
    note: MEMORY,
  },
  "fallocate -l 50G": {
    text: "fallocate -l 50G /workspace/one; exit $?",
    timeoutMs: 20_000,
    note: /for one file|workspace quota/,
  },
  "a dd loop": {
    text: "i=0; while :; do i=$((i + 1)); dd if=/dev/zero of=/workspace/f$i bs=1M count=20 2>/dev/null || exit 7; done",
    timeoutMs: 60_000,
    note: QUOTA,
  },
  "a million empty files": {
    text: `exec python3 -c 'import os
os.makedirs("/workspace/many")
for i in range(1000000): os.close(os.open("/workspace/many/%d" % i, os.O_CREAT))'`,
    timeoutMs: 110_000,
    note: /The limit of \d+ files in the workspace was reached/,
  },
  "an output flood": { text: "yes", timeoutMs: LONG_MS, note: TIME },
  "an output flood of tiny pieces": {
    text: "while :; do echo a; echo b >&2; done",
    timeoutMs: LONG_MS,
    note: TIME,
  },
  "busy loops": {
    text: "for i in 1 2 3 4 5 6 7 8; do (while :; do :; done) & done; wait",
    timeoutMs: LONG_MS,
    note: TIME,
  },
};

/** The short form has others of their kind. */
const SPARED = new Set(["a fork bomb of processes", "an output flood of tiny pieces"]);

/** Commands of the neighbour, one after the other, until told to end. @returns what each took, in milliseconds */
async function work(
  neighbour: BoxHandle,
  isOver: () => boolean,
  look?: () => Promise<void>,
): Promise<readonly number[]> {
  const taken: number[] = [];
  while (!isOver()) {
    await look?.();
    const begun = performance.now();
    const { exit } = await run(neighbour, ["true"], { timeoutMs: 60_000 });
    expect(exit).toMatchObject({ status: "completed", exitCode: 0 });
    taken.push(performance.now() - begun);
    await delay(PAUSE_MS);
  }
  return taken;
}

/** Reads what a command says and keeps none of it, as a tool does that has enough. */
async function endure(bully: BoxHandle, { text, timeoutMs }: Bully): Promise<ExecExit> {
  let exit: ExecExit | null = null;
  for await (const event of bully.exec(aCommand(["sh", "-c", text], { timeoutMs }), FOREVER))
    if (event.type === "exit") exit = event.exit;
  if (exit === null) throw new Error("The command ended without an exit.");
  return exit;
}

describe.skipIf(!hasEngine())("a box beside one that does its worst", () => {
  let engine: TestEngine;
  let neighbour: BoxHandle;
  let root: string;

  async function freeMib(): Promise<number> {
    const { bavail, bsize } = await statfs(root);
    return (bavail * bsize) / MIB;
  }

  beforeAll(async () => {
    engine = new TestEngine("helper", undefined, { mode: "watchdog", entries: ENTRIES });
    root = rootSchema.parse(await engine.docker.info()).DockerRootDir;
    ({ box: neighbour } = await engine.startBox());
  });
  afterAll(async () => {
    await neighbour[Symbol.asyncDispose]();
    await engine[Symbol.asyncDispose]();
  });

  async function quietly(): Promise<readonly number[]> {
    const until = performance.now() + QUIET_MS;
    return work(neighbour, () => performance.now() > until);
  }

  it.each(Object.entries(BULLIES).filter(([what]) => IS_FULL || !SPARED.has(what)))(
    "works on, and the limit that stopped the other is named: %s",
    async (what, bully) => {
      const { box: bad } = await engine.startBox({ workspaceQuotaMb: QUOTA_MIB });
      await run(bad, ["true"]);
      const before = await quietly();
      const freeBefore = await freeMib();
      let leastFree = freeBefore;
      let isOver = false;
      const ended = endure(bad, bully).finally(() => {
        isOver = true;
      });
      const look = async (): Promise<void> => {
        leastFree = Math.min(leastFree, await freeMib());
      };
      const beside = await work(neighbour, () => isOver, look);
      const exit = await ended;
      const after = await quietly();
      expect(exit.notes.join(" ")).toMatch(bully.note);
      expect(exit.status === "completed" && exit.exitCode === 0).toBe(false);
      const { stdout } = await run(bad, ["sh", "-c", "du -sm --apparent-size /workspace | cut -f1"], {
        timeoutMs: 60_000,
      });
      expect(Number(stdout)).toBeLessThan(QUOTA_MIB + OVERSHOOT_MIB);
      await bad[Symbol.asyncDispose]();
      expect(freeBefore - leastFree).toBeLessThan(QUOTA_MIB + OVERSHOOT_MIB + OTHERS_MIB);
      expect(Math.max(...beside)).toBeLessThan(HANGS_MS);
      const quiet = percentile([...before, ...after], 0.95);
      const loud = percentile(beside, 0.95);
      const kept = { proof: "neighbour" } as const;
      prove({
        ...kept,
        what: `host's disk taken at most: ${what}`,
        value: freeBefore - leastFree,
        unit: "MiB",
      });
      prove({ ...kept, what: `quiet p95: ${what}`, value: quiet, unit: "ms" });
      prove({ ...kept, what: `beside it p95 of ${beside.length}: ${what}`, value: loud, unit: "ms" });
      prove({ ...kept, what: `ratio: ${what}`, value: loud / quiet, unit: "x", limit: MOST });
    },
    240_000,
  );
});
