import { describe, expect, it } from "vitest";
import { asTheyEnd } from "../../../src/lib/as-they-end.js";

/** A promise that the test settles. */
class Held<Value> {
  readonly promise: Promise<Value>;
  readonly #settle: ((value: Value) => void)[] = [];
  readonly #refuse: ((error: Error) => void)[] = [];

  constructor() {
    this.promise = new Promise<Value>((resolve, reject) => {
      this.#settle.push(resolve);
      this.#refuse.push(reject);
    });
  }

  resolve(value: Value): void {
    for (const settle of this.#settle) settle(value);
  }

  reject(error: Error): void {
    for (const refuse of this.#refuse) refuse(error);
  }
}

describe("asTheyEnd", () => {
  it("gives values in the order in which the work ends", async () => {
    const [slow, quick] = [new Held<string>(), new Held<string>()];
    const order = asTheyEnd([slow.promise, quick.promise, Promise.resolve("done")]);
    expect((await order.next()).value).toBe("done");
    quick.resolve("quick");
    expect((await order.next()).value).toBe("quick");
    const last = order.next();
    slow.resolve("slow");
    expect((await last).value).toBe("slow");
    expect((await order.next()).done).toBe(true);
  });

  it("throws what a task rejects with, when its turn comes", async () => {
    const failing = new Held<string>();
    const order = asTheyEnd([failing.promise, Promise.resolve("a")]);
    expect((await order.next()).value).toBe("a");
    failing.reject(new Error("It failed."));
    await expect(order.next()).rejects.toThrow("It failed.");
  });

  it("ends at once without tasks", async () => {
    expect(await asTheyEnd([]).next()).toEqual({ done: true, value: undefined });
  });
});
