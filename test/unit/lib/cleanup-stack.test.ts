import { describe, expect, it } from "vitest";
import { CleanupStack } from "../../../src/lib/cleanup-stack.js";

function failing(text: string) {
  return (): Promise<void> => Promise.reject(new Error(text));
}

describe("CleanupStack", () => {
  it("releases the last taken first, each after the one before has ended", async () => {
    const order: string[] = [];
    {
      await using stack = new CleanupStack();
      stack.defer(() => void order.push("first taken"));
      stack.use({
        [Symbol.asyncDispose]: async () => {
          await Promise.resolve();
          order.push("second taken");
        },
      });
      stack.use({ [Symbol.dispose]: () => void order.push("third taken") });
    }
    expect(order).toEqual(["third taken", "second taken", "first taken"]);
  });

  it("gives a used thing back", () => {
    using thing = { [Symbol.dispose]: () => undefined };
    expect(new CleanupStack().use(thing)).toBe(thing);
  });

  it("releases everything although one release fails, and throws that failure", async () => {
    await using stack = new CleanupStack();
    let released = false;
    stack.defer(() => void (released = true));
    stack.defer(failing("stuck"));
    await expect(stack[Symbol.asyncDispose]()).rejects.toThrow("stuck");
    expect(released).toBe(true);
  });

  it("keeps every cause when several releases fail", async () => {
    await using stack = new CleanupStack();
    stack.defer(failing("one"));
    stack.defer(failing("two"));
    const failure: unknown = await stack[Symbol.asyncDispose]().catch((error: unknown) => error);
    expect(failure).toMatchObject({
      message: "2 releases failed.",
      errors: [{ message: "two" }, { message: "one" }],
    });
    expect(failure).toBeInstanceOf(AggregateError);
  });

  it("has nothing left to do the second time", async () => {
    await using stack = new CleanupStack();
    let released = 0;
    stack.defer(() => void (released += 1));
    await stack[Symbol.asyncDispose]();
    await stack[Symbol.asyncDispose]();
    expect(released).toBe(1);
  });

  it("hands everything to its heir", async () => {
    let released = 0;
    await using stack = new CleanupStack();
    stack.defer(() => void (released += 1));
    await using heir = stack.move();
    await stack[Symbol.asyncDispose]();
    expect(released).toBe(0);
    await heir[Symbol.asyncDispose]();
    expect(released).toBe(1);
  });
});
