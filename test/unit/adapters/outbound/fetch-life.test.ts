import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { FetchLife } from "../../../../src/adapters/outbound/fetch-life.js";

const TIMES = { timeoutMs: 60_000, idleMs: 60_000 };

async function failSoon(): Promise<never> {
  await setImmediate();
  throw new Error("no such name");
}

describe("FetchLife", () => {
  it("hears the failure of work that it no longer waits for", async () => {
    using life = new FetchLife(TIMES, AbortSignal.abort(new Error("gone")));
    await expect(life.race(failSoon())).rejects.toThrow("The fetch was stopped.");
    // A failure that nobody hears would fail the test run from here on.
    await setImmediate();
    await setImmediate();
  });

  it("gives what the work gives while the fetch lasts", async () => {
    using life = new FetchLife(TIMES, new AbortController().signal);
    expect(await life.race(Promise.resolve("answer"))).toBe("answer");
  });

  it("tells the caller's own reason", () => {
    const reason = new Error("gone");
    using life = new FetchLife(TIMES, AbortSignal.abort(reason));
    expect(life.explain(new Error("socket hang up"))).toBe(reason);
  });
});
