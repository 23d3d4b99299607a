import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { KeyedLock } from "../../../src/lib/keyed-lock.js";

const patient = { signal: new AbortController().signal };

describe("KeyedLock", () => {
  it("lets one holder in at a time, in order of arrival", async () => {
    const lock = new KeyedLock<string>();
    const order: string[] = [];
    const enter = async (name: string): Promise<void> => {
      using _hold = await lock.acquire("a", patient);
      order.push(`${name} in`);
      await Promise.resolve();
      order.push(`${name} out`);
    };
    await Promise.all([enter("first"), enter("second"), enter("third")]);
    expect(order).toEqual(["first in", "first out", "second in", "second out", "third in", "third out"]);
  });

  it("keeps keys independent of one another", async () => {
    const lock = new KeyedLock<string>();
    using _a = await lock.acquire("a", patient);
    using b = await lock.acquire("b", patient);
    expect(b).toBeDefined();
  });

  it("does not let a newcomer overtake a waiter that was just admitted", async () => {
    const lock = new KeyedLock<string>();
    const order: string[] = [];
    using holder = await lock.acquire("a", patient);
    const waiter = lock.acquire("a", patient).then((hold) => {
      order.push("waiter");
      return hold;
    });
    holder[Symbol.dispose]();
    const newcomer = lock.acquire("a", patient).then((hold) => {
      order.push("newcomer");
      return hold;
    });
    (await waiter)[Symbol.dispose]();
    (await newcomer)[Symbol.dispose]();
    expect(order).toEqual(["waiter", "newcomer"]);
  });

  it("gives up the place of a waiter whose signal aborts", async () => {
    const lock = new KeyedLock<string>();
    const impatient = new AbortController();
    using holder = await lock.acquire("a", patient);
    const leaving = lock.acquire("a", { signal: impatient.signal });
    const staying = lock.acquire("a", patient);
    impatient.abort(new Error("no time"));
    await expect(leaving).rejects.toThrow("no time");
    holder[Symbol.dispose]();
    await expect(staying).resolves.toBeDefined();
  });

  it("wraps an abort reason that is no error", async () => {
    const lock = new KeyedLock<string>();
    const impatient = new AbortController();
    using _holder = await lock.acquire("a", patient);
    const leaving = lock.acquire("a", { signal: impatient.signal });
    impatient.abort("late");
    await expect(leaving).rejects.toMatchObject({ message: "Aborted.", cause: "late" });
  });

  it("refuses at once when the signal has aborted before", async () => {
    const lock = new KeyedLock<string>();
    const signal = AbortSignal.abort(new Error("gone"));
    await expect(lock.acquire("a", { signal })).rejects.toThrow("gone");
    await expect(lock.acquire("a", patient)).resolves.toBeDefined();
  });

  it("lets in one waiter only when a hold is disposed of twice", async () => {
    const lock = new KeyedLock<string>();
    using holder = await lock.acquire("a", patient);
    let inside = 0;
    const second = lock.acquire("a", patient).then((hold) => {
      inside += 1;
      return hold;
    });
    const third = lock.acquire("a", patient).then((hold) => {
      inside += 1;
      return hold;
    });
    holder[Symbol.dispose]();
    holder[Symbol.dispose]();
    using hold = await second;
    expect(inside).toBe(1);
    hold[Symbol.dispose]();
    (await third)[Symbol.dispose]();
  });

  it("never has two holders of one key, whoever leaves early", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ key: fc.constantFrom("a", "b"), leaves: fc.boolean() }), { maxLength: 20 }),
        async (visits) => {
          const lock = new KeyedLock<string>();
          const inside = new Map<string, number>();
          let most = 0;
          const visit = async ({ key, leaves }: { key: string; leaves: boolean }): Promise<void> => {
            const controller = new AbortController();
            const entering = lock.acquire(key, controller);
            if (leaves) controller.abort(new Error("left"));
            using _hold = await entering;
            inside.set(key, (inside.get(key) ?? 0) + 1);
            most = Math.max(most, ...inside.values());
            await Promise.resolve();
            inside.set(key, (inside.get(key) ?? 0) - 1);
          };
          await Promise.allSettled(visits.map(visit));
          expect(most).toBeLessThanOrEqual(1);
        },
      ),
    );
  });
});
