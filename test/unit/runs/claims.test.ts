import { describe, expect, it } from "vitest";
import { openMemoryStores } from "../../../src/adapters/memory/open-memory-stores.js";
import { Claims, claimLost } from "../../../src/runs/claims.js";
import { FakeClock } from "../../fakes/fake-clock.js";
import { aRun } from "../../support/records.js";

async function aLedger() {
  const clock = new FakeClock();
  const { runs } = openMemoryStores({ clock });
  await runs.create(aRun());
  const worker = (name: string): Claims => new Claims({ runs, clock, worker: name });
  return { clock, runs, one: worker("one"), two: worker("two") };
}

describe("Claims", () => {
  it("hold a run for 30 s, and as long as they are renewed", async () => {
    const { clock, one, two } = await aLedger();
    expect(await one.take("run_1")).toMatchObject({ epoch: 1, claim: { worker: "one" } });
    clock.advance(29_000);
    expect([...(await one.renew())]).toEqual(["run_1"]);
    clock.advance(29_000);
    expect(await two.take("run_1")).toBeNull();
    clock.advance(1_000);
    expect([...(await one.renew())]).toEqual([]);
    expect(await two.take("run_1")).toMatchObject({ epoch: 2, claim: { worker: "two" } });
  });

  it("take over at once what a dead worker held", async () => {
    const { one, two } = await aLedger();
    await one.take("run_1");
    expect(await two.takeOver("run_1")).toMatchObject({ epoch: 2, claim: { worker: "two" } });
  });

  it("give back a run that has not begun", async () => {
    const { runs, one, two } = await aLedger();
    const run = await one.take("run_1");
    if (run !== null) await one.giveBack(run);
    expect(await runs.get("main", "run_1")).toMatchObject({ state: "queued", claim: null });
    expect(await two.take("run_1")).toMatchObject({ epoch: 2 });
  });

  it("stop a run that they have lost in a way that invites to repeat it", () => {
    expect(claimLost()).toMatchObject({ code: "run.interrupted", retryable: true });
  });
});
