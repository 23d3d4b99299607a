/** Runs that are cancelled while a command runs: it stops within a second, and nothing counts it any more (api §2, box §18.4). */
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, inject, it } from "vitest";
import { z } from "zod";
import { runs } from "../../support/agent-script.js";
import { countCommandLines, Load } from "../../support/machine.js";
import { percentile, prove, sized } from "../../support/proof.js";
import { proves } from "../../support/proves.js";
import { streamEvents } from "../../support/read-events.js";
import { chatMessage, serviceForAll } from "../../support/shared-service.js";

const LIMIT_MS = 1000;
const PATIENCE_MS = 30_000;
const boxesSchema = z.object({
  boxes: z.array(z.object({ activity: z.object({ leases: z.number() }) })),
});

interface Cancelled {
  /** Milliseconds from the request to cancel until no process of the command was left. */
  readonly goneMs: number;
  /** Until the request was answered. */
  readonly answeredMs: number;
}

async function until(holds: () => Promise<boolean> | boolean): Promise<number> {
  const begun = performance.now();
  while (!(await holds())) {
    if (performance.now() - begun > PATIENCE_MS) throw new Error("What was waited for did not come.");
    await delay(2);
  }
  return performance.now() - begun;
}

describe.skipIf(!inject("dockerAvailable"))("a run that is cancelled during a command", () => {
  const service = serviceForAll();
  let marker = 70_000 + (process.pid % 1000) * 100;

  async function cancelOne(): Promise<Cancelled> {
    marker += 1;
    const word = `sleep ${marker}`;
    using _model = service().script(runs(`trap '' TERM; setsid ${word} & (${word} &); ${word}`));
    const started = await service().post({ ...chatMessage("42", "Sleep"), stream: true });
    const events = streamEvents(started)[Symbol.asyncIterator]();
    const first = await events.next();
    if (first.done === true) throw new Error("The run told nothing.");
    await until(() => countCommandLines(word) >= 3);
    const begun = performance.now();
    const answer = service()
      .fetch(`/v1/runs/${first.value.run_id}/cancel`, { method: "POST" })
      .then(async (response) => ({ body: await response.json(), answeredMs: performance.now() - begun }));
    const goneMs = await until(() => countCommandLines(word) === 0);
    const { body, answeredMs } = await answer;
    expect(body).toMatchObject({ status: "cancelled" });
    let last = first.value.type;
    for (let step = await events.next(); step.done !== true; step = await events.next())
      last = step.value.type;
    expect(last).toBe("run.cancelled");
    return { goneMs, answeredMs };
  }

  async function series(rounds: number, when: string): Promise<void> {
    const all: Cancelled[] = [];
    for (let round = 0; round < rounds; round += 1) all.push(await cancelOne());
    const kept = { proof: "cancels", unit: "ms" } as const;
    const gone = all.map(({ goneMs }) => goneMs);
    const answered = all.map(({ answeredMs }) => answeredMs);
    prove({ ...kept, what: `${when}: cancel to no process left, p50`, value: percentile(gone, 0.5) });
    prove({
      ...kept,
      what: `${when}: cancel to no process left, max`,
      value: Math.max(...gone),
      limit: LIMIT_MS,
    });
    prove({ ...kept, what: `${when}: cancel to its answer, max`, value: Math.max(...answered) });
  }

  it(
    "leaves no process of it, and the box counts it no more",
    async () => {
      proves("BOX-12");
      await series(sized(6, 100), "as it is");
      await until(async () => {
        const { boxes } = boxesSchema.parse(await (await service().fetch("/v1/boxes/status")).json());
        return boxes.length === 1 && boxes[0]?.activity.leases === 0;
      });
      expect(await service().containers()).toMatchObject([{ State: "running" }]);
      expect(await service().countProcesses("<defunct>")).toBe(0);
    },
    sized(120_000, 600_000),
  );

  it(
    "does so beside twenty processes that want a processor",
    async () => {
      await using _load = new Load(sized(2, 20));
      await series(sized(2, 50), "under load");
      expect(countCommandLines(`sleep ${marker}`)).toBe(0);
    },
    sized(120_000, 900_000),
  );
});
