import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ManagedProcess } from "../../../src/box/managed-process.js";
import { FakeClock } from "../../fakes/fake-clock.js";
import { ScriptedProcess } from "../../fakes/scripted-process.js";
import { ENDLESS } from "./box-world.js";

const KIB = 1024;

function aProcess() {
  const process = new ScriptedProcess();
  const clock = new FakeClock();
  const did: string[] = [];
  const giveBack = async () => void did.push("given back");
  return {
    process,
    clock,
    did,
    managed: ManagedProcess.manage({ process, lease: { [Symbol.asyncDispose]: giveBack }, clock }),
  };
}

const textOf = (managed: ManagedProcess): string =>
  managed.output
    .read(0, Infinity)
    .parts.map(({ bytes }) => Buffer.from(bytes).toString())
    .join("");

describe("ManagedProcess", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("keeps the output, notices the end with its code, then clears away and gives the box back", async () => {
    const { process, managed, clock, did } = aProcess();
    process.say("out");
    process.say("err", "stderr");
    await managed.more(5, 1000, ENDLESS);
    expect(textOf(managed)).toBe("outerr");
    expect([managed.exit, managed.endedAt, managed.isClosed]).toEqual([null, null, false]);
    clock.advance(500);
    process.endWith(3);
    await managed.ended(1000, ENDLESS);
    expect(managed.exit).toMatchObject({ status: "completed", exitCode: 3 });
    expect(managed.endedAt).toEqual({ now: 1_700_000_000_500, elapsed: 500 });
    await managed.closed;
    expect(managed.isClosed).toBe(true);
    expect([...process.did, ...did]).toEqual(["dispose", "given back"]);
  });

  it("waits for output or the end no longer than it is told, and for nobody who gives up", async () => {
    const { managed } = aProcess();
    const waiting = Promise.all([managed.more(0, 1000, ENDLESS), managed.ended(1000, ENDLESS)]);
    await vi.advanceTimersByTimeAsync(1000);
    await waiting;
    expect(managed.exit).toBeNull();
    const reason = new Error("given up");
    await expect(managed.ended(1000, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });

  it("passes input and size on, one write at a time", async () => {
    const { process, managed } = aProcess();
    await Promise.all([
      managed.write(Buffer.from("1"), ENDLESS),
      managed.write(Buffer.from("2"), ENDLESS),
      managed.endInput(ENDLESS),
    ]);
    managed.resize({ rows: 1, columns: 2 });
    expect(process.did).toEqual(["write 1", "write 2", "end", "resize 1 2"]);
  });

  it("sends TERM, and kills what does not end by it within 5 s", async () => {
    const polite = aProcess();
    await polite.managed.stop();
    expect(polite.process.did).toEqual(["terminate", "dispose"]);
    const stubborn = aProcess();
    stubborn.process.isPolite = false;
    const stops = Promise.all([stubborn.managed.stop(), stubborn.managed.stop()]);
    await vi.advanceTimersByTimeAsync(4999);
    expect(stubborn.process.did).toEqual(["terminate"]);
    await vi.advanceTimersByTimeAsync(1);
    await stops;
    expect(stubborn.process.did).toEqual(["terminate", "kill", "dispose"]);
    expect(stubborn.managed.exit).toMatchObject({ status: "cancelled" });
  });

  it("says what went wrong when the box does not tell the end", async () => {
    const silent = aProcess();
    silent.process.breakOff(null);
    await silent.managed.closed;
    expect(silent.managed.exit).toMatchObject({ status: "killed", exitCode: null });
    const broken = aProcess();
    broken.process.breakOff(new Error("socket"));
    await broken.managed.closed;
    expect(broken.managed.exit?.notes).toEqual(["The service failed in an unexpected way."]);
    expect(broken.did).toEqual(["given back"]);
  });

  it("slows a flood down that nobody follows, until it is stopped", async () => {
    const { process, managed } = aProcess();
    const piece = "x".repeat(KIB * KIB);
    for (let i = 0; i < 20; i += 1) process.say(piece);
    await vi.advanceTimersByTimeAsync(0);
    expect(process.unread.length).toBeGreaterThan(8);
    await managed.stop();
    expect(managed.output.end).toBe(20 * piece.length);
  });

  it("makes the process wait for a follower that is slow, so that nothing is lost", async () => {
    const { process, managed } = aProcess();
    const piece = "x".repeat(100 * KIB);
    for (let i = 0; i < 5; i += 1) process.say(piece);
    process.endWith(0);
    let sizeBytes = 0;
    {
      using follower = managed.follow(0);
      expect(managed.isFollowed).toBe(true);
      await vi.advanceTimersByTimeAsync(0);
      expect(managed.output.end).toBe(2 * piece.length);
      for (let read = await follower.read(64 * KIB, ENDLESS); read !== null; ) {
        expect(read.droppedBytes).toBe(0);
        sizeBytes += read.parts.reduce((sum, { bytes }) => sum + bytes.length, 0);
        read = await follower.read(64 * KIB, ENDLESS);
      }
    }
    expect(sizeBytes).toBe(5 * piece.length);
    expect(managed.isFollowed).toBe(false);
  });

  it("goes on when a slow follower leaves or is stopped for", async () => {
    const left = aProcess();
    const piece = "x".repeat(200 * KIB);
    using leave = left.managed.follow(0);
    for (let i = 0; i < 3; i += 1) left.process.say(piece);
    left.process.endWith(0);
    await vi.advanceTimersByTimeAsync(0);
    expect(left.managed.exit).toBeNull();
    leave[Symbol.dispose]();
    leave[Symbol.dispose]();
    await left.managed.closed;
    const stopped = aProcess();
    using _slow = stopped.managed.follow(0);
    for (let i = 0; i < 3; i += 1) stopped.process.say(piece);
    await vi.advanceTimersByTimeAsync(0);
    await stopped.managed.kill();
    expect(stopped.managed.exit).toMatchObject({ status: "cancelled" });
  });

  it("has one follower: another one takes its place, and the first one hears so", async () => {
    const { process, managed } = aProcess();
    using first = managed.follow(0);
    const waiting = first.read(KIB, ENDLESS);
    using second = managed.follow(0);
    expect(await waiting).toBeNull();
    process.say("for the second");
    expect(await second.read(KIB, ENDLESS)).toMatchObject({ next: 14 });
    expect(await first.read(KIB, ENDLESS)).toBeNull();
    first[Symbol.dispose]();
    expect(managed.isFollowed).toBe(true);
    await managed.kill();
    expect(await second.read(KIB, ENDLESS)).toBeNull();
  });
});
