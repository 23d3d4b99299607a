import { describe, expect, it } from "vitest";
import { Job } from "../../../src/box/job.js";
import { JobRecords } from "../../../src/box/job-records.js";
import { SecretMask } from "../../../src/lib/secret-mask.js";
import { FakeClock } from "../../fakes/fake-clock.js";
import { ScriptedProcess } from "../../fakes/scripted-process.js";

function someRecords(maxEnded = 2) {
  const clock = new FakeClock();
  const records = new JobRecords({ clock }, { maxEnded, endedTtlSec: 300 });
  const aJob = (id: string) => {
    const process = new ScriptedProcess();
    const job = new Job({
      id,
      command: "work",
      process,
      lease: { [Symbol.asyncDispose]: async () => {} },
      clock,
      mask: new SecretMask([]),
    });
    const end = async (): Promise<void> => {
      process.endWith(0);
      await job.process.closed;
      clock.advance(1000);
    };
    return { job, end };
  };
  const idsOf = (sessionId: `ses_${string}`) => records.of(sessionId).map(({ id }) => id);
  return { clock, records, aJob, idsOf };
}

describe("JobRecords", () => {
  it("finds a job in its session alone, and counts those that run", async () => {
    const { records, aJob } = someRecords();
    const { job, end } = aJob("one");
    records.keep("ses_a", job);
    expect([records.find("ses_a", "one"), records.get("ses_b", "one")]).toEqual([job, null]);
    expect(() => records.find("ses_b", "one")).toThrow(
      expect.objectContaining({ code: "box.process_not_found" }),
    );
    expect(records.runningCount).toBe(1);
    await end();
    expect([records.runningCount, records.all]).toEqual([0, [job]]);
  });

  it("keeps the later of two of one id, as the newest", async () => {
    const { records, aJob, idsOf } = someRecords();
    const [first, other, again] = [aJob("one"), aJob("two"), aJob("one")];
    records.keep("ses_a", first.job);
    records.keep("ses_a", other.job);
    await first.end();
    records.keep("ses_a", again.job);
    expect(idsOf("ses_a")).toEqual(["two", "one"]);
    expect(records.get("ses_a", "one")).toBe(again.job);
  });

  it("forgets ended jobs that are too old or too many, of all sessions, and none that runs", async () => {
    const { clock, records, aJob, idsOf } = someRecords();
    const jobs = [aJob("1"), aJob("2"), aJob("3"), aJob("4")];
    for (const [index, { job }] of jobs.entries()) records.keep(index < 2 ? "ses_a" : "ses_b", job);
    for (const { end } of jobs.slice(0, 3)) await end();
    records.prune();
    expect([idsOf("ses_a"), idsOf("ses_b")]).toEqual([["2"], ["3", "4"]]);
    clock.advance(300_000);
    expect(() => records.find("ses_a", "2")).toThrow("The session has no job");
    expect([idsOf("ses_a"), idsOf("ses_b")]).toEqual([[], ["4"]]);
    records.forgetAll("ses_b");
    expect(records.all).toEqual([]);
  });
});
