/** Hundreds of commands that are stopped: nothing of them is left, and the box is still the same (box §12.3, §18.4). */
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ExecExit } from "../../../src/domain/box.js";
import type { BoxPlace } from "../../../src/ports/box-backend.js";
import type { BoxHandle } from "../../../src/ports/box-handle.js";
import { aCommand } from "../../contracts/box-backend.js";
import { FOREVER, hasEngine, TestEngine } from "../../support/engine.js";
import { percentile, prove, sized } from "../../support/proof.js";
import { FORKERS, VICTIMS } from "../../support/victims.js";

const ROUNDS = sized(60, 500);
const AT_ONCE = 3;
const LIVES_MS = 300;
const GONE_MS = 2000;
/** What an idle machine never needs, and a busy one may. */
const PATIENCE_MS = 20_000;
const KINDS = Object.entries({ ...VICTIMS, ...FORKERS });
const PROOF = "kills";

interface Stopped {
  readonly what: string;
  readonly exit: ExecExit;
  /** Milliseconds from the stop to the exit. */
  readonly lateMs: number;
}

describe.skipIf(!hasEngine())(`${ROUNDS} commands that do not want to end`, () => {
  let engine: TestEngine;
  let place: BoxPlace;
  let box: BoxHandle;

  beforeAll(async () => {
    engine = new TestEngine();
    ({ place, box } = await engine.startBox());
  });
  afterAll(async () => {
    await box[Symbol.asyncDispose]();
    await engine[Symbol.asyncDispose]();
  });

  const others = async (): Promise<readonly string[]> =>
    (await engine.processes(place.container)).filter((line) => !/docker-init|boxd (hold|serve)/.test(line));

  /** Every second one is cancelled, the others run out of time. */
  async function stop(round: number): Promise<Stopped> {
    const [what, text] = KINDS[round % KINDS.length] ?? ["none", "exit"];
    const isCancelled = Math.floor(round / KINDS.length) % 2 === 1;
    const cancel = new AbortController();
    const request = aCommand(["sh", "-c", text], { timeoutMs: isCancelled ? 60_000 : LIVES_MS });
    let exit: ExecExit | null = null;
    let begun = performance.now();
    const timer = setTimeout(() => {
      begun = performance.now() - LIVES_MS;
      if (isCancelled) cancel.abort();
    }, LIVES_MS);
    for await (const event of box.exec(request, { signal: cancel.signal }))
      if (event.type === "exit") exit = event.exit;
    const lateMs = performance.now() - begun - LIVES_MS;
    clearTimeout(timer);
    if (exit === null) throw new Error("The command ended without an exit.");
    expect([what, exit.status, exit.exitCode]).toEqual([what, isCancelled ? "cancelled" : "timed_out", null]);
    return { what, exit, lateMs };
  }

  it(
    "are stopped one and all, and leave no process, no zombie and the same box",
    async () => {
      const before = await engine.backend.inspect(place.container, FOREVER);
      const stopped: Stopped[] = [];
      const goneMs: number[] = [];
      for (let round = 0; round < ROUNDS; round += AT_ONCE) {
        const batch = Array.from({ length: Math.min(AT_ONCE, ROUNDS - round) }, async (_none, i) =>
          stop(round + i),
        );
        stopped.push(...(await Promise.all(batch)));
        const begun = performance.now();
        while ((await others()).length > 0 && performance.now() - begun < PATIENCE_MS) await delay(20);
        expect(await others()).toEqual([]);
        goneMs.push(performance.now() - begun);
      }
      expect(stopped).toHaveLength(ROUNDS);
      expect(await engine.backend.inspect(place.container, FOREVER)).toEqual(before);
      expect(engine.logger.lines).toEqual([]);
      const kept = { proof: PROOF, unit: "ms" } as const;
      for (const [what] of KINDS) {
        const late = stopped.filter((one) => one.what === what).map(({ lateMs }) => lateMs);
        prove({ ...kept, what: `stop to exit, p95: ${what}`, value: percentile(late, 0.95) });
      }
      const late = stopped.map(({ lateMs }) => lateMs);
      prove({ ...kept, what: "stop to exit, p50", value: percentile(late, 0.5) });
      prove({ ...kept, what: "stop to exit, p99", value: percentile(late, 0.99), limit: GONE_MS });
      prove({ ...kept, what: "exit to nothing left, max", value: Math.max(...goneMs), limit: GONE_MS });
    },
    sized(180_000, 1_800_000),
  );
});
