import { describe, expect, it } from "vitest";
import { TokenBuckets } from "../../../src/http/token-bucket.js";
import { FakeClock } from "../../fakes/fake-clock.js";

function take(buckets: TokenBuckets, key: string, times: number): number[] {
  return Array.from({ length: times }, () => buckets.take(key));
}

describe("TokenBuckets", () => {
  it("gives a burst of a minute's worth, then says when there is one again", () => {
    const buckets = new TokenBuckets(new FakeClock(), 3);
    expect(take(buckets, "a", 4)).toEqual([0, 0, 0, 20]);
  });

  it("fills steadily, and never above the capacity", () => {
    const clock = new FakeClock();
    const buckets = new TokenBuckets(clock, 3);
    take(buckets, "a", 3);
    clock.advance(19_999);
    expect(buckets.take("a")).toBe(1);
    clock.advance(1);
    expect(buckets.take("a")).toBe(0);
    clock.advance(3_600_000);
    expect(take(buckets, "a", 4)).toEqual([0, 0, 0, 20]);
  });

  it("keeps one key's use from another", () => {
    const buckets = new TokenBuckets(new FakeClock(), 1);
    expect([buckets.take("a"), buckets.take("b"), buckets.take("a")]).toEqual([0, 0, 60]);
  });

  it("is not moved by the time of day", () => {
    const clock = new FakeClock();
    const buckets = new TokenBuckets(clock, 1);
    buckets.take("a");
    clock.set(0);
    expect(buckets.take("a")).toBe(60);
  });

  it("forgets the key that was used longest ago when there are too many", () => {
    const buckets = new TokenBuckets(new FakeClock(), 1);
    for (let i = 0; i <= 10_000; i += 1) buckets.take(`address ${i}`);
    expect(buckets.take("address 0")).toBe(0);
    expect(buckets.take("address 10000")).toBe(60);
  });
});
