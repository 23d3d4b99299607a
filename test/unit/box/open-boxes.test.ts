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

const idleFor = (boxes: OpenBoxes, leastMs: number) =>
  boxes.idle().flatMap(({ id, idleMs }) => (idleMs >= leastMs ? [id] : []));

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
    expect(idleFor(boxes, 60_000)).toEqual(["ses_0"]);
    using hold = boxes.hold("ses_0");
    expect(idleFor(boxes, 0)).toEqual([]);
    hold[Symbol.dispose]();
    expect(idleFor(boxes, 60_000)).toEqual([]);
    clock.advance(60_000);
    expect(idleFor(boxes, 60_000)).toEqual(["ses_0"]);
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
    expect(idleFor(boxes, 400_000)).toEqual(["ses_old"]);
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

const bringToRest = async (boxes: OpenBoxes, tier: "paused" | "stopped") =>
  boxes.quieten("ses_0", tier, free);
const tierOf = (boxes: OpenBoxes) => boxes.idle().find(({ id }) => id === "ses_0")?.tier;

describe("tiers", () => {
  it("count a paused box and not a stopped one, which needs a place to wake up", async () => {
    const { boxes } = some(2);
    await bringToRest(boxes, "paused");
    expect([boxes.count, boxes.stoppedCount, boxes.isFull]).toEqual([2, 0, true]);
    await bringToRest(boxes, "stopped");
    expect([boxes.count, boxes.stoppedCount, boxes.isFull]).toEqual([1, 1, false]);
    await boxes.reserve(...want("ses_new"));
    using _held = boxes.hold("ses_new");
    using _other = boxes.hold("ses_1");
    await expect(boxes.reserve(...want("ses_0"))).rejects.toThrow(
      expect.objectContaining({ code: "box.capacity", details: { limit: 2, used: 2 } }),
    );
    boxes.forget("ses_new");
    await boxes.reserve(...want("ses_0"));
    expect([boxes.get("ses_0"), boxes.count]).toEqual([aBox(0), 2]);
  });

  it("follow what the engine says of boxes that nobody holds", async () => {
    const { boxes } = some(1);
    boxes.see("ses_unknown", "stopped");
    boxes.see("ses_0", "stopped");
    expect(tierOf(boxes)).toBe("stopped");
    boxes.see("ses_0", "running");
    expect(tierOf(boxes)).toBe("awake");
    boxes.markRestless("ses_0");
    boxes.see("ses_0", "running");
    expect(tierOf(boxes)).toBe("restless");
    {
      using _hold = boxes.hold("ses_0");
      boxes.see("ses_0", "paused");
    }
    expect(tierOf(boxes)).toBe("restless");
    boxes.set("ses_0", aBox(0));
    expect(tierOf(boxes)).toBe("awake");
  });

  it("leave out what is to be left alone for a while", async () => {
    const { boxes, clock } = some(1);
    boxes.postpone("ses_0", 5000);
    boxes.postpone("ses_unknown", 5000);
    expect(boxes.idle()).toEqual([]);
    clock.advance(5000);
    expect(boxes.idle()).toHaveLength(1);
    await bringToRest(boxes, "paused");
    boxes.markRestless("ses_0");
    boxes.markRestless("ses_unknown");
    expect(tierOf(boxes)).toBe("paused");
  });
});

describe("boxes of the pool", () => {
  it("are never rested for being idle, go first when a place is needed, and begin anew as a tenant's", async () => {
    const { boxes, clock } = some(1);
    const wide = new OpenBoxes({ clock, maxBoxes: 2 });
    wide.set("ses_0", aBox(0), 90_000);
    wide.set("ses_spare", { ...aBox(1), tenant: "" }, 60_000);
    expect(wide.idle().map(({ id }) => id)).toEqual(["ses_0"]);
    const rested: string[] = [];
    await wide.reserve(...want("ses_new", async (id) => void rested.push(id)));
    expect(rested).toEqual(["ses_spare"]);
    boxes.entrust("ses_0", "acme");
    boxes.entrust("ses_unknown", "acme");
    expect(boxes.get("ses_0")?.tenant).toBe("acme");
    expect(boxes.idleMs("ses_0")).toBe(0);
    expect([boxes.isFree("ses_0"), boxes.isFree("ses_unknown")]).toEqual([true, false]);
  });
});
