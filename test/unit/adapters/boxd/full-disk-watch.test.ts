import { EventEmitter, once } from "node:events";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { FullDiskWatch } from "../../../../src/adapters/boxd/full-disk-watch.js";
import type { DiskUse } from "../../../../src/domain/exec-outcome.js";

const ROOM = { sizeBytes: 1, entries: 1, isFull: false };
const FULL = { sizeBytes: 100, entries: 1, isFull: true };

function aCommand() {
  const end = new EventEmitter();
  const gone = once(end, "gone").then(() => undefined);
  const strikes: DiskUse[] = [];
  return {
    gone,
    leave: () => void end.emit("gone"),
    strikes,
    strike: (use: DiskUse) => void strikes.push(use),
  };
}

function watchOver(look: () => typeof ROOM | null) {
  let looks = 0;
  const watch = new FullDiskWatch({
    look: async () => {
      looks += 1;
      return look();
    },
    elapsed: () => Date.now(),
  });
  return { watch, looks: () => looks };
}

describe("FullDiskWatch", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("stops a command that fills the workspace and goes on", async () => {
    let use = ROOM;
    const { watch } = watchOver(() => use);
    const command = aCommand();
    watch.watch(command, await watch.before());
    await vi.advanceTimersByTimeAsync(2000);
    use = FULL;
    await vi.advanceTimersByTimeAsync(3000);
    expect(command.strikes).toEqual([]);
    await vi.advanceTimersByTimeAsync(1000);
    expect(command.strikes[0]).toBe(FULL);
    command.leave();
  });

  it("lets a command go on that makes room again", async () => {
    let use = ROOM;
    const { watch } = watchOver(() => use);
    const command = aCommand();
    watch.watch(command, await watch.before());
    for (let round = 0; round < 5; round += 1) {
      use = FULL;
      await vi.advanceTimersByTimeAsync(2000);
      use = ROOM;
      await vi.advanceTimersByTimeAsync(1000);
    }
    expect(command.strikes).toEqual([]);
    command.leave();
  });

  it("lets a command go on that found the workspace full", async () => {
    const { watch } = watchOver(() => FULL);
    const command = aCommand();
    const before = await watch.before();
    expect(before).toBe(FULL);
    watch.watch(command, before);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(command.strikes).toEqual([]);
    command.leave();
  });

  it("stops a command that writes while the host's disk is down to its reserve, and no other", async () => {
    let sizeBytes = 1000;
    let isFull = false;
    const watch = new FullDiskWatch({
      look: async () => ({ ...ROOM, sizeBytes }),
      isHostFull: async () => isFull,
      elapsed: () => Date.now(),
    });
    const command = aCommand();
    watch.watch(command, await watch.before());
    await vi.advanceTimersByTimeAsync(1000);
    isFull = true;
    await vi.advanceTimersByTimeAsync(5000);
    expect(command.strikes).toEqual([]);
    sizeBytes += 2 * 1024 * 1024;
    await vi.advanceTimersByTimeAsync(600);
    expect(command.strikes).toMatchObject([{ sizeBytes, isHostFull: true }]);
    command.leave();
  });

  it("looks no more when the last command is gone, and again for the next one", async () => {
    const { watch, looks } = watchOver(() => ROOM);
    const [one, two] = [aCommand(), aCommand()];
    watch.watch(one, null);
    watch.watch(two, null);
    one.leave();
    await vi.advanceTimersByTimeAsync(1000);
    expect(looks()).toBe(2);
    two.leave();
    await vi.advanceTimersByTimeAsync(5000);
    expect(looks()).toBe(2);
    const three = aCommand();
    watch.watch(three, null);
    await vi.advanceTimersByTimeAsync(600);
    expect(looks()).toBe(3);
    three.leave();
  });

  it.each([
    ["says nothing", () => null],
    [
      "fails",
      () => {
        throw new Error("no such directory");
      },
    ],
  ])("stops nobody for a host that %s", async (_what, look) => {
    const { watch } = watchOver(look);
    const command = aCommand();
    watch.watch(command, await watch.before());
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await watch.after()).toBe(null);
    expect(command.strikes).toEqual([]);
    command.leave();
  });

  it("tells what a full workspace holds when a command has ended", async () => {
    expect(await watchOver(() => FULL).watch.after()).toBe(FULL);
    expect(await watchOver(() => ROOM).watch.after()).toBe(null);
  });
});
