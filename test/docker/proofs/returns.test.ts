/** Commands that leave something running, or wait for an input, come back at once, and say what they left (box §12.1, §12.2). */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { BoxPlace } from "../../../src/ports/box-backend.js";
import { run } from "../../contracts/box-backend.js";
import { FOREVER, hasEngine, TestEngine } from "../../support/engine.js";
import { percentile, prove, sized } from "../../support/proof.js";
import { proves } from "../../support/proves.js";

const ROUNDS = sized(2, 50);
const AT_ONCE = 8;
const ONE_STILL_RUNS = /^1 process that the command started still runs and is stopped when the run ends\.$/;
const NOTHING_LEFT = /^$/;

const COMMANDS = [
  ["python3 -m http.server 8000 &", 0, ONE_STILL_RUNS],
  ["yes > /dev/stdout &", 0, ONE_STILL_RUNS],
  ["yes &", 0, ONE_STILL_RUNS],
  ["sleep 1000 & exit 3", 3, ONE_STILL_RUNS],
  ["nohup setsid sleep 1000 & exit 4", 4, ONE_STILL_RUNS],
  ["cat", 0, NOTHING_LEFT],
  ["read x", 1, NOTHING_LEFT],
  ["cat > copy; exit 5", 5, NOTHING_LEFT],
  ["false", 1, NOTHING_LEFT],
] as const;

describe.skipIf(!hasEngine())("a command whose foreground process has ended", () => {
  let engine: TestEngine;
  let place: BoxPlace;

  beforeAll(async () => {
    engine = new TestEngine();
    const started = await engine.startBox();
    place = started.place;
    await started.box[Symbol.asyncDispose]();
  });
  afterAll(async () => engine[Symbol.asyncDispose]());

  it.each(COMMANDS)(
    "comes back with its code and a note: %s",
    async (text, exitCode, note) => {
      const times: number[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        await using lease = await engine.backend.open(place, FOREVER);
        const begun = performance.now();
        const { exit } = await run(lease, ["sh", "-lc", text], { timeoutMs: 20_000 });
        times.push(performance.now() - begun);
        expect(exit).toMatchObject({ status: "completed", exitCode });
        expect(exit.notes.join(" ")).toMatch(note);
      }
      prove({
        proof: "returns",
        what: `p95: ${text}`,
        value: percentile(times, 0.95),
        unit: "ms",
        limit: 1000,
      });
      expect((await engine.processes(place.container)).filter((line) => !line.includes("boxd"))).toEqual([]);
    },
    sized(60_000, 300_000),
  );

  it("comes back however short it is, with many at once", async () => {
    proves("BOX-29");
    const count = 500;
    const times: number[] = [];
    await using lease = await engine.backend.open(place, FOREVER);
    const series = async (first: number): Promise<void> => {
      for (let i = first; i < count; i += AT_ONCE) {
        const begun = performance.now();
        const { exit, stdout } = await run(lease, ["echo", String(i)]);
        times.push(performance.now() - begun);
        expect([stdout, exit.status, exit.exitCode]).toEqual([`${i}\n`, "completed", 0]);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, async (_none, first) => series(first)));
    expect(times).toHaveLength(count);
    expect(Math.max(...times)).toBeLessThan(2000);
    const kept = { proof: "returns", unit: "ms" } as const;
    prove({ ...kept, what: `${count} short commands, 8 at once: p50`, value: percentile(times, 0.5) });
    prove({
      ...kept,
      what: `${count} short commands, 8 at once: max`,
      value: Math.max(...times),
      limit: 2000,
    });
  }, 120_000);
});
