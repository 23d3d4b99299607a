/** Many boxes at once: commands per second, and what a box costs that does nothing. */
import type { BoxPlace } from "../../src/ports/box-backend.js";
import type { BoxHandle } from "../../src/ports/box-handle.js";
import { type BenchEngine, run } from "./bench-engine.js";
import { engineExec } from "./bench-exec.js";
import { readMemoryKib } from "./bench-memory.js";
import { median } from "./bench-series.js";

const WORK_MS = 4000;

export interface ManyBoxes {
  readonly boxes: number;
  readonly commandsPerSecond: { readonly berth: number; readonly engineExec: number; readonly ratio: number };
  /** Medians; NaN where the engine is not on this machine. */
  readonly idleKib: { readonly helper: number; readonly holder: number; readonly shim: number };
}

interface Opened {
  readonly place: BoxPlace;
  readonly box: BoxHandle;
}

/** `true` in each of the boxes over and over. */
export async function benchMany(engine: BenchEngine, count: number): Promise<ManyBoxes> {
  const boxes: Opened[] = [];
  while (boxes.length < count) boxes.push(await engine.startBox());
  const memory = await Promise.all(
    boxes.map(async ({ place }) => readMemoryKib(engine.docker, place.container)),
  );
  const berth = await rate(boxes, async ({ box }) => void (await run(box, ["true"])));
  const exec = await rate(
    boxes,
    async ({ place }) =>
      void (await engineExec(engine.docker.getContainer(place.container), ["true"], place.uid)),
  );
  for (const { place, box } of boxes) {
    await box[Symbol.asyncDispose]();
    await engine.docker.getContainer(place.container).remove({ force: true, v: true });
  }
  return {
    boxes: count,
    commandsPerSecond: { berth, engineExec: exec, ratio: berth / exec },
    idleKib: {
      helper: median(memory.map(({ helperKib }) => helperKib)),
      holder: median(memory.map(({ holderKib }) => holderKib)),
      shim: median(memory.map(({ shimKib }) => shimKib)),
    },
  };
}

export function describeMany({ boxes, commandsPerSecond: rates, idleKib: idle }: ManyBoxes): string {
  return (
    `${boxes} boxes at once: ${rates.berth.toFixed(0)} commands/s, engine exec ${rates.engineExec.toFixed(0)}, ` +
    `${rates.ratio.toFixed(1)} x; idle KiB: helper ${idle.helper}, holder ${idle.holder}, shim ${idle.shim}`
  );
}

async function rate(boxes: readonly Opened[], work: (opened: Opened) => Promise<void>): Promise<number> {
  const begun = performance.now();
  const until = begun + WORK_MS;
  let done = 0;
  await Promise.all(
    boxes.map(async (opened) => {
      for (; performance.now() < until; done += 1) await work(opened);
    }),
  );
  return done / ((performance.now() - begun) / 1000);
}
