import { describe, expect, it } from "vitest";
import { jobIdSchema, jobInfoSchema } from "../../../src/domain/job.js";

describe("an id of a job", () => {
  it.each(["default", "a", "job_1", "A.b-c", "9".repeat(64)])("may be %s", (id) => {
    expect(jobIdSchema.safeParse(id).success).toBe(true);
  });

  it.each(["", ".", "-a", "a b", "a/b", "../a", "ä", "a\n", "9".repeat(65)])(
    "is no path and no odd text: %j",
    (id) => {
      expect(jobIdSchema.safeParse(id).success).toBe(false);
    },
  );
});

describe("what is told of a job", () => {
  it("is running without an end, or exited with one", () => {
    const running = {
      id: "default",
      status: "running",
      exit_code: null,
      command: "sleep 1",
      started_at: "2026-01-01T00:00:00.000Z",
      ended_at: null,
      stderr_preview: "",
      output_bytes: 0,
      notes: [],
    };
    expect(jobInfoSchema.parse(running)).toEqual(running);
    expect(jobInfoSchema.safeParse({ ...running, status: "lost" }).success).toBe(false);
  });
});
