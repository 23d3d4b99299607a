import { describe, expect, it } from "vitest";
import { RecentErrors } from "../../../src/box/recent-errors.js";
import { ServiceError } from "../../../src/domain/errors.js";
import { FakeClock } from "../../fakes/fake-clock.js";

const numbered = (number: number) => new ServiceError("box.capacity", `Error ${number}.`);

describe("RecentErrors", () => {
  it("keeps the newest 50 of a tenant and of the engine together, in order, with their times", () => {
    const clock = new FakeClock();
    const errors = new RecentErrors(clock);
    for (let i = 1; i <= 60; i += 1) {
      errors.add(numbered(i), i % 2 === 0 ? "main" : null);
      clock.advance(1000);
    }
    const newest = errors.newest("main");
    expect(newest.map(({ message }) => message)).toEqual(
      Array.from({ length: 50 }, (_none, index) => `Error ${index + 11}.`),
    );
    const times = newest.map(({ timestamp }) => Date.parse(timestamp));
    expect(times[49]).toBe(clock.now() - 1000);
    expect(times[0]).toBe(clock.now() - 50_000);
  });

  it("shows a tenant nothing of another one, and lets none push out the errors of another", () => {
    const errors = new RecentErrors(new FakeClock());
    errors.add(numbered(0), "main");
    for (let i = 1; i <= 60; i += 1) errors.add(numbered(i), "other");
    expect(errors.newest("main").map(({ message }) => message)).toEqual(["Error 0."]);
    expect(errors.newest("third")).toEqual([]);
  });

  it("keeps those of a bounded number of tenants, and always those of the engine", () => {
    const errors = new RecentErrors(new FakeClock());
    errors.add(numbered(0), null);
    for (let i = 1; i <= 1000; i += 1) errors.add(numbered(i), `tenant-${i}`);
    const seen = (tenant: string) => errors.newest(tenant).map(({ message }) => message);
    expect(seen("tenant-1")).toEqual(["Error 0."]);
    expect(seen("tenant-2")).toEqual(["Error 0.", "Error 2."]);
  });

  it("says what is ours in one bounded line, and of everything else only that it failed", () => {
    const errors = new RecentErrors(new FakeClock());
    errors.add(new ServiceError("box.readiness", `two\n lines ${"x".repeat(1000)}`), "main");
    errors.add(new Error("connect /secret/path.sock"), "main");
    const [long, foreign] = errors.newest("main");
    expect(long?.message).toMatch(/^two lines x+$/);
    expect(long?.message).toHaveLength(500);
    expect(foreign).toMatchObject({
      code: "internal",
      message: "The service failed in an unexpected way.",
    });
  });
});
