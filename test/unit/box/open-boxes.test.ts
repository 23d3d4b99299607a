import { describe, expect, it } from "vitest";
import { OpenBoxes } from "../../../src/box/open-boxes.js";
import type { SessionId } from "../../../src/domain/ids.js";
import { FakeClock } from "../../fakes/fake-clock.js";
import { ENDLESS } from "./box-world.js";

const aBox = (uid: number) => ({
  tenant: "main",
  container: `c${uid}`,
  uid,
  settings: null,
  startedAt: null,
});
const free = async () => {};

function some(count: number) {
  const clock = new FakeClock();
  const boxes = new OpenBoxes({ clock, maxBoxes: count });
  const ids = Array.from({ length: count }, (_none, index): SessionId => `ses_${index}`);
  for (const [index, id] of ids.entries()) {
    boxes.set(id, aBox(index));
    clock.advance(1000);
  }
  return { clock, boxes };
}

/** Work that the test ends. */
class Pending {
  readonly work: Promise<void>;
  end: () => void = () => {};

  constructor() {
    this.work = new Promise((resolve) => {
      this.end = resolve;
    });
  }
}

const want = (id: SessionId, rest: (victim: SessionId) => Promise<void> = free) =>
  [id, { tenant: "main", uid: 7, rest }, ENDLESS] as const;

describe("holds", () => {
  it("count from the call to the disposal, once each", () => {
    const { boxes } = some(1);
    const [one, two] = [boxes.hold("ses_0"), boxes.hold("ses_0")];
    expect(boxes.holds("ses_0")).toBe(2);
    one[Symbol.dispose]();
    one[Symbol.dispose]();
    expect(boxes.holds("ses_0")).toBe(1);
    two[Symbol.dispose]();
    expect(boxes.holds("ses_0")).toBe(0);
    boxes.hold("ses_unknown")[Symbol.dispose]();
    expect(boxes.get("ses_unknown")).toBeNull();
  });

  it("make the idle time begin anew when the last one ends", () => {
    const { boxes, clock } = some(1);
    clock.advance(60_000);
    expect(boxes.idleFor(60_000)).toEqual(["ses_0"]);
    using hold = boxes.hold("ses_0");
    expect(boxes.idleFor(0)).toEqual([]);
    hold[Symbol.dispose]();
    expect(boxes.idleFor(60_000)).toEqual([]);
    clock.advance(60_000);
    expect(boxes.idleFor(60_000)).toEqual(["ses_0"]);
  });

  it("are told by the time since the last one ended", () => {
    const { boxes, clock } = some(1);
    clock.advance(2000);
    expect(boxes.idleMs("ses_0")).toBe(3000);
    using hold = boxes.hold("ses_0");
    expect(boxes.idleMs("ses_0")).toBeNull();
    hold[Symbol.dispose]();
    expect(boxes.idleMs("ses_0")).toBe(0);
    expect(boxes.idleMs("ses_unknown")).toBeNull();
  });

  it("of the process before count with the time since their last use", () => {
    const { boxes } = some(1);
    boxes.set("ses_old", aBox(9), 500_000);
    expect(boxes.idleFor(400_000)).toEqual(["ses_old"]);
  });
});

describe("reserve", () => {
  it("keeps the place a session has", async () => {
    const { boxes } = some(1);
    await boxes.reserve(...want("ses_0"));
    expect(boxes.get("ses_0")).toEqual(aBox(0));
  });

  it("rests the longest idle box", async () => {
    const { boxes } = some(2);
    const rested: string[] = [];
    await boxes.reserve(...want("ses_new", async (id) => void rested.push(id)));
    expect(rested).toEqual(["ses_0"]);
    expect(boxes.count).toBe(2);
    expect(boxes.uidsBesides("ses_1")).toEqual([7]);
  });

  it("waits for a box that is closing before it gives up", async () => {
    const { boxes } = some(1);
    const pending = new Pending();
    const closing = boxes.close("ses_0", () => pending.work);
    const reserved = boxes.reserve(...want("ses_new"));
    pending.end();
    expect(await closing).toBe(true);
    await reserved;
    expect(boxes.count).toBe(1);
  });

  it("stops with the signal's reason", async () => {
    const { boxes } = some(1);
    const signal = AbortSignal.abort(new Error("cancelled"));
    await expect(
      boxes.reserve("ses_new", { tenant: "main", uid: 7, rest: free }, { signal }),
    ).rejects.toThrow("cancelled");
  });
});

describe("close", () => {
  it("leaves alone what is held, unknown or closing", async () => {
    const { boxes } = some(2);
    using _hold = boxes.hold("ses_0");
    const pending = new Pending();
    const closing = boxes.close("ses_1", () => pending.work);
    expect(await boxes.close("ses_0", free)).toBe(false);
    expect(await boxes.close("ses_1", free)).toBe(false);
    expect(await boxes.close("ses_unknown", free)).toBe(false);
    pending.end();
    expect(await closing).toBe(true);
    await boxes.settled("ses_1");
    expect(boxes.count).toBe(1);
  });

  it("keeps a box that could not be rested, and lets it be closed again", async () => {
    const { boxes } = some(1);
    await expect(boxes.close("ses_0", () => Promise.reject(new Error("busy")))).rejects.toThrow("busy");
    await boxes.settled("ses_0");
    expect(boxes.count).toBe(1);
    expect(await boxes.close("ses_0", free)).toBe(true);
  });
});
