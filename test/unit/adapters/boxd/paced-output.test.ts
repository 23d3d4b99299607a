import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { OutputPiece } from "../../../../src/adapters/boxd/command-output.js";
import { type PacedCommand, pacedOutput } from "../../../../src/adapters/boxd/paced-output.js";
import { FakeClock } from "../../../fakes/fake-clock.js";

const MIB = 1024 * 1024;
const PIECE: OutputPiece = { stream: "stdout", bytes: new Uint8Array(MIB) };

/** A command that says so many MiB. */
function aFlood(mib: number, hasEnded = false): PacedCommand {
  let left = mib;
  return {
    hasEnded,
    output: {
      next: async () => {
        left -= 1;
        return Promise.resolve(left < 0 ? null : PIECE);
      },
    },
  };
}

/** Reads all of it while nothing but pauses takes time. @returns milliseconds that it takes */
async function timeToRead(command: PacedCommand): Promise<number> {
  const clock = new FakeClock();
  const begun = Date.now();
  const begunElapsed = clock.elapsed();
  const moving = { now: () => clock.now(), elapsed: () => begunElapsed + Date.now() - begun };
  const reading = (async () => {
    for await (const { type } of pacedOutput(command, moving)) expect(type).toBe("output");
    return Date.now() - begun;
  })();
  await vi.advanceTimersByTimeAsync(5000);
  return reading;
}

describe("pacedOutput", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("reads what a usual command says without a pause", async () => {
    expect(await timeToRead(aFlood(64))).toBeLessThan(20);
  });

  it("reads a flood at 32 MiB a second", async () => {
    const tookMs = await timeToRead(aFlood(64 + 32));
    expect(tookMs).toBeGreaterThan(900);
    expect(tookMs).toBeLessThan(1100);
  });

  it("reads what is left of a command that has ended at full speed", async () => {
    expect(await timeToRead(aFlood(200, true))).toBeLessThan(20);
  });
});
