import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { untilStopped } from "../../../src/runs/until-stopped.js";

const REASON = new Error("stopped");

/** Ends by itself when its signal aborts, after it has yielded `last`. */
async function* obedient(signal: AbortSignal, freed: string[], last: string): AsyncGenerator<string, void> {
  try {
    yield "first";
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    yield last;
  } finally {
    freed.push("freed");
  }
}

/** Waits for something that never comes. */
async function* deaf(freed: string[]): AsyncGenerator<string, void> {
  try {
    yield "first";
    await new Promise(() => undefined);
  } finally {
    freed.push("freed");
  }
}

async function* brief(): AsyncGenerator<string, void> {
  yield "a";
  yield "b";
}

async function* endless(): AsyncGenerator<string, void> {
  for (;;) yield "again";
}

async function collect(
  source: AsyncIterable<string>,
  options: { signal: AbortSignal; graceMs: number },
  onItem: (item: string) => void = () => undefined,
): Promise<{ items: string[]; thrown: unknown }> {
  const items: string[] = [];
  try {
    for await (const item of untilStopped(source, options)) {
      items.push(item);
      onItem(item);
    }
  } catch (error) {
    return { items, thrown: error };
  }
  return { items, thrown: null };
}

describe("untilStopped", () => {
  it("yields what the source yields, and ends with it", async () => {
    const { signal } = new AbortController();
    expect(await collect(brief(), { signal, graceMs: 0 })).toEqual({ items: ["a", "b"], thrown: null });
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });

  it("throws what the source throws", async () => {
    const failure = new TypeError("broken");
    const source = async function* (): AsyncGenerator<string, void> {
      yield "a";
      throw failure;
    };
    const { signal } = new AbortController();
    expect(await collect(source(), { signal, graceMs: 0 })).toEqual({ items: ["a"], thrown: failure });
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });

  it("makes an error of a text that is thrown", async () => {
    const source: AsyncIterable<string> = {
      // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- what a foreign runner may do
      [Symbol.asyncIterator]: () => ({ next: () => Promise.reject("just text") }),
    };
    const { thrown } = await collect(source, { signal: new AbortController().signal, graceMs: 0 });
    expect(thrown).toEqual(new Error("just text"));
  });

  it("stops waiting as soon as the signal aborts, and frees the source", async () => {
    const controller = new AbortController();
    const freed: string[] = [];
    const source = obedient(controller.signal, freed, "late");
    const stopped = await collect(source, { signal: controller.signal, graceMs: 0 }, () =>
      setImmediate(() => controller.abort(REASON)),
    );
    expect(stopped).toEqual({ items: ["first"], thrown: REASON });
    await source.return();
    expect(freed).toEqual(["freed"]);
  });

  it("looks at the signal after every item", async () => {
    const controller = new AbortController();
    const stopped = await collect(endless(), { signal: controller.signal, graceMs: 0 }, () =>
      controller.abort(REASON),
    );
    expect(stopped).toEqual({ items: ["again"], thrown: REASON });
  });

  it("does not begin a source for a signal that has aborted before", async () => {
    let hasBegun = false;
    const source = async function* (): AsyncGenerator<string, void> {
      hasBegun = true;
      yield "a";
    };
    const stopped = await collect(source(), { signal: AbortSignal.abort(REASON), graceMs: 20 });
    expect(stopped).toEqual({ items: [], thrown: REASON });
    expect(hasBegun).toBe(false);
  });

  it("is not held up by a source that does not react", async () => {
    const controller = new AbortController();
    const freed: string[] = [];
    const stopped = await collect(deaf(freed), { signal: controller.signal, graceMs: 20 }, () =>
      setImmediate(() => controller.abort(REASON)),
    );
    expect(stopped).toEqual({ items: ["first"], thrown: REASON });
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
  });

  it("lets a source end by itself within the grace, and drops what it yields then", async () => {
    const controller = new AbortController();
    const freed: string[] = [];
    const source = obedient(controller.signal, freed, "late");
    const stopped = await collect(source, { signal: controller.signal, graceMs: 1000 }, () =>
      setImmediate(() => controller.abort(REASON)),
    );
    expect(stopped).toEqual({ items: ["first"], thrown: REASON });
    expect(freed).toEqual(["freed"]);
  });

  it("takes a failure within the grace for the end of the source", async () => {
    const controller = new AbortController();
    const source = async function* (): AsyncGenerator<string, void> {
      yield "first";
      await new Promise((resolve) => controller.signal.addEventListener("abort", resolve, { once: true }));
      throw new Error("I was interrupted");
    };
    const stopped = await collect(source(), { signal: controller.signal, graceMs: 1000 }, () =>
      setImmediate(() => controller.abort(REASON)),
    );
    expect(stopped.thrown).toBe(REASON);
  });

  it("ends within the grace, however much a source yields", async () => {
    const controller = new AbortController();
    const stopped = await collect(endless(), { signal: controller.signal, graceMs: 20 }, () =>
      controller.abort(REASON),
    );
    expect(stopped.thrown).toBe(REASON);
  });

  it("lets timers run while a source yields without ever waiting", async () => {
    const controller = new AbortController();
    setTimeout(() => controller.abort(REASON), 5);
    const stopped = await collect(endless(), { signal: controller.signal, graceMs: 0 });
    expect(stopped.thrown).toBe(REASON);
  });

  it("frees the source of a consumer that leaves early", async () => {
    const freed: string[] = [];
    const { signal } = new AbortController();
    const source = async function* (): AsyncGenerator<string, void> {
      try {
        yield "first";
        yield "second";
      } finally {
        freed.push("freed");
      }
    };
    for await (const item of untilStopped(source(), { signal, graceMs: 0 })) if (item === "first") break;
    expect(freed).toEqual(["freed"]);
  });
});
