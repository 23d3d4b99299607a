import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { linkSignals } from "../../../src/lib/link-signals.js";
import { warningsOfListeners } from "../../support/warnings-of-listeners.js";

describe("linkSignals", () => {
  it.each([0, 1])("aborts with the reason of parent %d", (index) => {
    const parents = [new AbortController(), new AbortController()];
    using linked = linkSignals(...parents.map(({ signal }) => signal));
    expect(linked.signal.aborted).toBe(false);
    parents[index]?.abort("why");
    expect(linked.signal.reason).toBe("why");
  });

  it("keeps the first reason when a second parent aborts", () => {
    const [first, second] = [new AbortController(), new AbortController()];
    using linked = linkSignals(first.signal, second.signal);
    second.abort("second");
    first.abort("first");
    expect(linked.signal.reason).toBe("second");
  });

  it("is aborted from the start when a parent is", () => {
    using linked = linkSignals(new AbortController().signal, AbortSignal.abort("before"));
    expect(linked.signal.reason).toBe("before");
  });

  it("lets go of its parents when disposed, so that long-lived ones collect nothing", () => {
    const parent = new AbortController();
    {
      using linked = linkSignals(parent.signal);
      expect(getEventListeners(parent.signal, "abort")).toHaveLength(1);
      expect(linked.signal.aborted).toBe(false);
    }
    expect(getEventListeners(parent.signal, "abort")).toHaveLength(0);
  });

  it("does not abort after it was disposed", () => {
    const parent = new AbortController();
    using linked = linkSignals(parent.signal);
    linked[Symbol.dispose]();
    parent.abort("late");
    expect(linked.signal.aborted).toBe(false);
  });

  it("lets any number of calls listen at once without a warning of a leak", async () => {
    using linked = linkSignals(new AbortController().signal);
    expect(await warningsOfListeners(linked.signal)).toEqual([]);
    expect(await warningsOfListeners(new AbortController().signal)).toHaveLength(1);
  });
});
