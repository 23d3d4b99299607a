import { describe, expect, it } from "vitest";
import { Job } from "../../../src/box/job.js";
import { SecretMask } from "../../../src/lib/secret-mask.js";
import { FakeClock } from "../../fakes/fake-clock.js";
import { ScriptedProcess } from "../../fakes/scripted-process.js";

function aJob(command = "make all") {
  const process = new ScriptedProcess();
  const clock = new FakeClock();
  const mask = new SecretMask(["sk-1234567890"]);
  const job = new Job({
    id: "default",
    command,
    process,
    lease: { [Symbol.asyncDispose]: async () => {} },
    clock,
    mask,
  });
  return { process, clock, job };
}

describe("Job", () => {
  it("tells how it is, and how it ended with its code", async () => {
    const { process, clock, job } = aJob();
    expect(job.info).toMatchObject({ id: "default", status: "running", exit_code: null, ended_at: null });
    process.say("made");
    process.say("warning", "stderr");
    clock.advance(1000);
    process.endWith(3);
    await job.process.closed;
    expect(job.info).toMatchObject({
      status: "exited",
      exit_code: 3,
      command: "make all",
      started_at: "2023-11-14T22:13:20.000Z",
      ended_at: "2023-11-14T22:13:21.000Z",
      stderr_preview: "warning",
      output_bytes: 11,
      notes: [],
    });
  });

  it("gives its output once to whoever takes it", async () => {
    const { process, job } = aJob();
    process.say("one");
    process.endWith(0);
    await job.process.closed;
    expect(job.take().parts.map(({ bytes }) => Buffer.from(bytes).toString())).toEqual(["one"]);
    expect(job.take().parts).toEqual([]);
    expect(job.taken).toBe(3);
  });

  it("shows 200 characters of its command and 4000 of its errors, and no secret", async () => {
    const { process, job } = aJob(`echo sk-1234567890 ${"x".repeat(500)}`);
    process.say(`sk-1234567890${"e".repeat(10_000)}`, "stderr");
    process.endWith(0);
    await job.process.closed;
    const { command, stderr_preview: errors } = job.info;
    expect(command).toMatch(/^echo \[redacted\] x+$/);
    expect([command.length, errors.length <= 4000]).toEqual([200, true]);
    expect(errors).toMatch(/^\[redacted\]e+\n\[\.\.\. \d+ characters left out \.\.\.\]\ne+$/);
  });
});
