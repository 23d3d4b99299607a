import { describe, expect, it } from "vitest";
import { asTheyEnd } from "../../../src/lib/as-they-end.js";

function held<Value>(): {
  promise: Promise<Value>;
  resolve: (value: Value) => void;
  reject: (error: Error) => void;
} {
  let resolve: (value: Value) => void = () => undefined;
  let reject: (error: Error) => void = () => undefined;
  const promise = new Promise<Value>((fulfil, refuse) => {
    resolve = fulfil;
    reject = refuse;
  });
  return { promise, resolve, reject };
}

describe("asTheyEnd", () => {
  it("gives values in the order in which the work ends", async () => {
    const [slow, quick] = [held<string>(), held<string>()];
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
    const failing = held<string>();
    const order = asTheyEnd([failing.promise, Promise.resolve("a")]);
    expect((await order.next()).value).toBe("a");
    failing.reject(new Error("It failed."));
    await expect(order.next()).rejects.toThrow("It failed.");
  });

  it("ends at once without tasks", async () => {
    expect(await asTheyEnd([]).next()).toEqual({ done: true, value: undefined });
  });
});
