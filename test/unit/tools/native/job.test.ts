import { describe, expect, it } from "vitest";
import { ServiceError } from "../../../../src/domain/errors.js";
import { createExecTool } from "../../../../src/tools/native/exec.js";
import { createJobTool } from "../../../../src/tools/native/job.js";
import { aJob } from "../../../fakes/fake-jobs.js";
import { errorOf, FakeToolBox, resultOf, runTool } from "../fake-tool-box.js";

const tool = createJobTool({ outputChars: 100 });

describe("job", () => {
  it("lists jobs, with little of their standard error", async () => {
    const box = new FakeToolBox();
    box.jobs.jobs = Array.from({ length: 60 }, (_, i) =>
      aJob({ id: `job_${i}`, stderr_preview: "e".repeat(4000) }),
    );
    const result = await resultOf(tool, box, { action: "list" });
    expect(result["jobs"]).toHaveLength(50);
    expect(JSON.stringify(result).length).toBeLessThan(30_000);
  });

  it("polls what is new, cut as the output of a command is, and says what is gone", async () => {
    const box = new FakeToolBox();
    box.jobs.output = {
      parts: [
        { stream: "stdout", bytes: Buffer.from("x".repeat(500)) },
        { stream: "stderr", bytes: Buffer.from("err") },
      ],
      next: 1003,
      droppedBytes: 500,
    };
    const result = await resultOf(tool, box, { action: "poll", id: "job_1", wait_sec: 2 });
    expect(result).toMatchObject({
      ok: true,
      id: "job_1",
      status: "running",
      stderr: "err",
      stdout_truncated: true,
    });
    expect(String(result["stdout"]).length).toBeLessThanOrEqual(100);
    expect(JSON.stringify(result["notes"])).toContain("500 bytes of older output");
    await resultOf(tool, box, { action: "poll", id: "job_1", wait_sec: -3 });
    expect(box.jobs.asked).toEqual(["take 2000 job_1", "take 0 job_1"]);
  });

  it("waits no longer than a command of the box may take", async () => {
    const box = new FakeToolBox();
    expect(await resultOf(tool, box, { action: "wait", id: "job_1" })).toMatchObject({
      ok: true,
      id: "job_1",
    });
    await resultOf(tool, box, { action: "wait", id: "job_1", wait_sec: 1e9 });
    expect(box.jobs.asked).toEqual(["wait 30000 job_1", "wait 120000 job_1"]);
  });

  it("sends input as it is, closes it without data, and stops", async () => {
    const box = new FakeToolBox();
    await resultOf(tool, box, { action: "input", id: "job_1", data: "y\n" });
    await resultOf(tool, box, { action: "input", id: "job_1" });
    await resultOf(tool, box, { action: "stop", id: "job_1" });
    expect(box.jobs.asked).toEqual(["input y\n job_1", "input end job_1", "stop job_1"]);
    const error = await errorOf(tool, box, { action: "input", id: "job_1", data: "x".repeat(65_537) });
    expect(error).toContain("65537 bytes, at most 65536");
  });

  it("answers with one sentence for a missing or unknown job, and passes on what is no refusal", async () => {
    const box = new FakeToolBox();
    expect(await errorOf(tool, box, { action: "stop" })).toContain("needs the id of a job");
    expect(await errorOf(tool, box, { action: "stop", id: "none" })).toContain('no job "none"');
    expect(await errorOf(tool, box, { action: "dance" })).toContain("Invalid input for job: action");
    box.jobs.failure = new ServiceError("box.process_conflict", "It does not read.", { hint: "Look." });
    expect(await errorOf(tool, box, { action: "input", id: "job_1" })).toBe("It does not read. Look.");
    for (const failure of [new ServiceError("box.engine_unavailable", "Gone."), new Error("bug")]) {
      box.jobs.failure = failure;
      await expect(runTool(tool, { box, input: { action: "stop", id: "job_1" } })).rejects.toBe(failure);
    }
  });
});

describe("exec in the background", () => {
  const exec = createExecTool({ outputChars: 100 });

  it("starts a job with the command's directory and environment and returns its id", async () => {
    const box = new FakeToolBox();
    const input = {
      command: "sleep 1000",
      workdir: "a",
      env: { X: "1" },
      background: "true",
      timeout_sec: 5,
    };
    const result = await resultOf(exec, box, input);
    expect(result).toMatchObject({ ok: true, job_id: "job_1", status: "running" });
    expect(JSON.stringify(result["notes"])).toContain("timeout_sec does not apply");
    expect(box.jobs.started).toMatchObject([
      { command: "sleep 1000", workdir: "/workspace/a", env: { X: "1", BERTH_INBOX: box.inbox } },
    ]);
    expect(box.commands).toEqual([]);
  });

  it("refuses as a command is refused, and says that there are too many jobs", async () => {
    const box = new FakeToolBox();
    expect(await errorOf(exec, box, { command: " ", background: true })).toContain("must not be empty");
    expect(await errorOf(exec, box, { command: "x", background: "perhaps" })).toContain("background");
    box.jobs.failure = new ServiceError("box.capacity", "64 jobs run.");
    expect(await errorOf(exec, box, { command: "x", background: true })).toBe("64 jobs run.");
    await resultOf(exec, box, { command: "x", background: false });
    expect(box.commands).toHaveLength(1);
  });
});
