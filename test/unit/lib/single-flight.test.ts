import { describe, expect, it } from "vitest";
import { SingleFlight } from "../../../src/lib/single-flight.js";

/** Work that ends when the test says so. */
function aGate() {
  const ends = new EventTarget();
  const passed = new Promise<number>((resolve, reject) => {
    ends.addEventListener("open", () => resolve(5));
    ends.addEventListener("fail", () => reject(new Error("broken")));
  });
  return {
    passed,
    open: () => void ends.dispatchEvent(new Event("open")),
    fail: () => void ends.dispatchEvent(new Event("fail")),
  };
}

function throwAtOnce(): Promise<number> {
  throw new Error("at once");
}

describe("SingleFlight", () => {
  it("shares one piece of work between callers of the same key", async () => {
    const flight = new SingleFlight<string, number>();
    let started = 0;
    const work = (): Promise<number> => Promise.resolve((started += 1));
    const answers = await Promise.all([flight.run("a", work), flight.run("a", work), flight.run("b", work)]);
    expect(answers).toEqual([1, 1, 2]);
  });

  it("starts anew once the work has ended", async () => {
    const flight = new SingleFlight<string, number>();
    let started = 0;
    const work = (): Promise<number> => Promise.resolve((started += 1));
    await flight.run("a", work);
    expect(await flight.run("a", work)).toBe(2);
  });

  it("gives a failure to everybody and keeps nothing of it", async () => {
    const flight = new SingleFlight<string, number>();
    const gate = aGate();
    const both = [flight.run("a", () => gate.passed), flight.run("a", () => gate.passed)];
    gate.fail();
    const outcomes = await Promise.allSettled(both);
    expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    await expect(flight.run("a", () => Promise.resolve(7))).resolves.toBe(7);
  });

  it("turns work that throws at once into a failure", async () => {
    const flight = new SingleFlight<string, number>();
    await expect(flight.run("a", throwAtOnce)).rejects.toThrow("at once");
    await expect(flight.run("a", () => Promise.resolve(1))).resolves.toBe(1);
  });

  it("goes on for the others when one caller leaves", async () => {
    const flight = new SingleFlight<string, number>();
    const gate = aGate();
    const leaver = new AbortController();
    let stopped = false;
    const work = (signal: AbortSignal): Promise<number> => {
      signal.addEventListener("abort", () => (stopped = true));
      return gate.passed;
    };
    const leaving = flight.run("a", work, { signal: leaver.signal });
    const staying = flight.run("a", work, { signal: new AbortController().signal });
    leaver.abort(new Error("left"));
    await expect(leaving).rejects.toThrow("left");
    expect(stopped).toBe(false);
    gate.open();
    await expect(staying).resolves.toBe(5);
  });

  it("stops the work when the last caller has left", async () => {
    const flight = new SingleFlight<string, number>();
    const leaver = new AbortController();
    const gate = aGate();
    const work = (signal: AbortSignal): Promise<number> => {
      signal.addEventListener("abort", () => gate.fail());
      return gate.passed;
    };
    const leaving = flight.run("a", work, { signal: leaver.signal });
    await Promise.resolve();
    leaver.abort("late");
    await expect(leaving).rejects.toMatchObject({ message: "Aborted.", cause: "late" });
    await expect(gate.passed).rejects.toThrow("broken");
  });

  it("lets a newcomer wait until abandoned work has ended, and then starts its own", async () => {
    const flight = new SingleFlight<string, number>();
    const leaver = new AbortController();
    const gate = aGate();
    const abandoned = flight.run("a", () => gate.passed, { signal: leaver.signal });
    await Promise.resolve();
    leaver.abort(new Error("left"));
    await expect(abandoned).rejects.toThrow("left");
    let started = false;
    const newcomer = flight.run("a", () => {
      started = true;
      return Promise.resolve(2);
    });
    await Promise.resolve();
    expect(started).toBe(false);
    gate.open();
    await expect(newcomer).resolves.toBe(2);
  });

  it("refuses a caller whose signal has aborted, without starting anything", async () => {
    const flight = new SingleFlight<string, number>();
    let started = false;
    const work = (): Promise<number> => {
      started = true;
      return Promise.resolve(1);
    };
    const signal = AbortSignal.abort(new Error("gone"));
    await expect(flight.run("a", work, { signal })).rejects.toThrow("gone");
    expect(started).toBe(false);
  });
});
