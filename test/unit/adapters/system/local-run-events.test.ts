import { getEventListeners } from "node:events";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LocalRunEvents } from "../../../../src/adapters/system/local-run-events.js";

const patient = { signal: new AbortController().signal };

/** Whether a wait is over once everything that is ready has run. */
async function isOver(wait: Promise<void>): Promise<boolean> {
  let over = false;
  void wait.then(() => (over = true));
  await new Promise(setImmediate);
  return over;
}

describe("LocalRunEvents", () => {
  it("wakes a reader when its run has a newer event", async () => {
    const events = new LocalRunEvents();
    events.notify("run_1", 1);
    const wait = events.waitBeyond("run_1", 1, patient);
    expect(await isOver(wait)).toBe(false);
    events.notify("run_1", 2);
    await expect(wait).resolves.toBeUndefined();
  });

  it("does not let a reader wait for an event that came before it asked", async () => {
    const events = new LocalRunEvents();
    events.notify("run_1", 3);
    await expect(events.waitBeyond("run_1", 2, patient)).resolves.toBeUndefined();
  });

  it("does not wake for events of other runs or for older ones", async () => {
    const events = new LocalRunEvents();
    events.notify("run_1", 5);
    const wait = events.waitBeyond("run_1", 5, patient);
    events.notify("run_2", 9);
    events.notify("run_1", 4);
    expect(await isOver(wait)).toBe(false);
    events.notify("run_1", 6);
    await wait;
    await expect(events.waitBeyond("run_1", 5, patient)).resolves.toBeUndefined();
  });

  it("sends the reader of an unknown run to the store once, and lets it wait then", async () => {
    const events = new LocalRunEvents();
    await expect(events.waitBeyond("run_1", 7, patient)).resolves.toBeUndefined();
    const wait = events.waitBeyond("run_1", 7, patient);
    expect(await isOver(wait)).toBe(false);
    events.notify("run_1", 8);
    await expect(wait).resolves.toBeUndefined();
  });

  it("wakes every reader of a run, each by its own number", async () => {
    const events = new LocalRunEvents();
    events.notify("run_1", 1);
    const near = events.waitBeyond("run_1", 1, patient);
    const far = events.waitBeyond("run_1", 5, patient);
    events.notify("run_1", 2);
    expect(await isOver(near)).toBe(true);
    expect(await isOver(far)).toBe(false);
    events.notify("run_1", 6);
    await expect(far).resolves.toBeUndefined();
  });

  it("rejects with the signal's reason and lets go of the signal", async () => {
    const events = new LocalRunEvents();
    events.notify("run_1", 1);
    const controller = new AbortController();
    const wait = events.waitBeyond("run_1", 1, controller);
    controller.abort(new Error("client gone"));
    await expect(wait).rejects.toThrow("client gone");
    await expect(events.waitBeyond("run_1", 1, controller)).rejects.toThrow("client gone");
    const odd = new AbortController();
    const second = events.waitBeyond("run_1", 1, odd);
    odd.abort("late");
    await expect(second).rejects.toMatchObject({ message: "Aborted.", cause: "late" });
    const third = events.waitBeyond("run_1", 1, patient);
    events.notify("run_1", 2);
    await third;
    expect(getEventListeners(patient.signal, "abort")).toHaveLength(0);
  });

  it("forgets the runs that were notified longest ago, but not who waits for them", async () => {
    const events = new LocalRunEvents({ rememberedRuns: 2 });
    events.notify("run_1", 1);
    const wait = events.waitBeyond("run_1", 1, patient);
    events.notify("run_2", 1);
    events.notify("run_3", 1);
    events.notify("run_1", 2);
    await expect(wait).resolves.toBeUndefined();
    // Forgotten again, and therefore sent to the store.
    await expect(events.waitBeyond("run_2", 1, patient)).resolves.toBeUndefined();
  });

  it("never leaves a reader waiting that has not read everything, however steps interleave", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom("store", "notify", "read", "other"), { maxLength: 40 }),
        async (steps) => {
          const events = new LocalRunEvents({ rememberedRuns: 1 });
          let stored = 0;
          let seen = 0;
          let asked: Promise<void> | null = null;
          for (const step of steps) {
            if (step === "store") stored += 1;
            if (step === "notify") events.notify("run_1", stored);
            if (step === "other") events.notify("run_2", 1);
            if (step === "read" && (asked === null || (await isOver(asked)))) {
              seen = stored;
              asked = events.waitBeyond("run_1", seen, patient);
            }
          }
          events.notify("run_1", stored);
          const waitsInVain = asked !== null && seen < stored && !(await isOver(asked));
          expect(waitsInVain).toBe(false);
        },
      ),
      { numRuns: 50 },
    );
  });
});
