/** What the first command of a box costs: in one that is made for it, that waits ready, and that is woken. */
import type Docker from "dockerode";
import type { BoxPlace } from "../../src/ports/box-backend.js";
import { type BenchEngine, FOREVER, run } from "./bench-engine.js";
import { engineExec } from "./bench-exec.js";

const ROUNDS = 8;

/** What is measured, and what is done before and after that each time. */
export interface PreparedWork {
  readonly before?: () => Promise<void>;
  readonly work: () => Promise<void>;
  readonly after?: () => Promise<void>;
}

export type Way = (() => Promise<void>) | PreparedWork;

export type Compare = (what: string, ways: Readonly<Record<string, Way>>, rounds?: number) => Promise<void>;

export async function benchLife(engine: BenchEngine, compare: Compare): Promise<void> {
  await benchFirst(engine, compare);
  const { place, box } = await engine.startBox();
  await box[Symbol.asyncDispose]();
  const container = engine.docker.getContainer(place.container);
  await compare(
    "wake from pause, first exec",
    {
      berth: {
        before: async () => void (await container.pause()),
        work: async () => openAndRun(engine, place),
      },
    },
    ROUNDS,
  );
  await compare(
    "wake from stop, first exec",
    {
      berth: {
        before: async () => engine.backend.stop(place.container, FOREVER),
        work: async () => openAndRun(engine, place),
      },
    },
    ROUNDS,
  );
  await engine.backend.removeContainer(place.container, FOREVER);
}

/** A box that waits ready is one of the warm pool, before a session adopts it. */
async function benchFirst(engine: BenchEngine, compare: Compare): Promise<void> {
  const ready: BoxPlace[] = [];
  for (let count = -1; count < ROUNDS; count += 1) {
    const { place, box } = await engine.startBox();
    await box[Symbol.asyncDispose]();
    ready.push(place);
  }
  await compare(
    "first exec of a session",
    {
      "berth, box ready": async () => openAndRun(engine, ready.pop()),
      "berth, box made": async () => {
        const { place, box } = await engine.startBox();
        await run(box, ["true"]);
        await box[Symbol.asyncDispose]();
        await engine.backend.removeContainer(place.container, FOREVER);
      },
      "engine, box made": async () => engineFirst(engine, await engine.stillContainer()),
    },
    ROUNDS,
  );
}

async function engineFirst(engine: BenchEngine, container: Docker.Container): Promise<void> {
  await engineExec(container, ["true"], 36_000);
  await engine.docker.getContainer(container.id).remove({ force: true, v: true });
}

async function openAndRun(engine: BenchEngine, place: BoxPlace | undefined): Promise<void> {
  if (place === undefined) throw new Error("No box waits ready.");
  await engine.backend.start(place, engine.settings, FOREVER);
  await using box = await engine.backend.open(place, FOREVER);
  await run(box, ["true"]);
}
