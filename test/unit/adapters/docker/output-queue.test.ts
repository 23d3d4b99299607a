import { describe, expect, it } from "vitest";
import { OutputQueue } from "../../../../src/adapters/docker/output-queue.js";

const piece = (sizeBytes: number) => ({ stream: "stdout", bytes: new Uint8Array(sizeBytes) }) as const;

/** Whether a promise is settled once all that is ready has run. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  void promise.finally(() => {
    settled = true;
  });
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  return settled;
}

describe("OutputQueue", () => {
  it("gives pieces in order, then the end", async () => {
    const queue = new OutputQueue();
    await queue.push(piece(1));
    await queue.push(piece(2));
    queue.close();
    expect((await queue.next())?.bytes.length).toBe(1);
    expect((await queue.next())?.bytes.length).toBe(2);
    expect(await queue.next()).toBeNull();
  });

  it("lets a reader wait for the next piece and for the end", async () => {
    const queue = new OutputQueue();
    const first = queue.next();
    await queue.push(piece(3));
    expect((await first)?.bytes.length).toBe(3);
    const second = queue.next();
    queue.close();
    expect(await second).toBeNull();
  });

  it("makes the writer wait while much is unread", async () => {
    const queue = new OutputQueue();
    const pushed = queue.push(piece(300_000));
    expect(await isSettled(pushed)).toBe(false);
    await queue.next();
    expect(await isSettled(pushed)).toBe(true);
  });

  it("makes the writer of very small pieces wait too", async () => {
    const queue = new OutputQueue();
    let pushed = 0;
    for (; pushed < 5000; pushed += 1) if (!(await isSettled(queue.push(piece(1))))) break;
    expect(pushed).toBeLessThan(1100);
  });

  it("lets the writer go on after a release and drops what is above its limit", async () => {
    const queue = new OutputQueue();
    const pushed = queue.push(piece(300_000));
    queue.release();
    await pushed;
    for (let i = 0; i < 20; i += 1) await queue.push(piece(300_000));
    queue.close();
    let kept = 0;
    for (let next = await queue.next(); next !== null; next = await queue.next()) kept += next.bytes.length;
    expect(kept).toBe(1_200_000);
  });

  it("takes nothing after the end", async () => {
    const queue = new OutputQueue();
    queue.close();
    await queue.push(piece(1));
    expect(await queue.next()).toBeNull();
  });
});
