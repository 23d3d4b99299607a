import { describe, expect, it } from "vitest";
import { RUN_STATES, runSchema } from "../../../src/domain/run.js";
import { toDelivery, toRunObject, toTime } from "../../../src/runs/run-object.js";
import { aFile, anOutcome, aRun } from "../../support/records.js";

describe("toRunObject", () => {
  it.each(RUN_STATES)("is valid by the published schema in the state %s", (state) => {
    expect(runSchema.safeParse(toRunObject(aRun({ state }), [aFile()])).error).toBeUndefined();
  });

  it.each([
    ["created", "queued"],
    ["queued", "queued"],
    ["claimed", "queued"],
    ["running", "running"],
    ["completed", "completed"],
    ["failed", "failed"],
    ["cancelled", "cancelled"],
    ["timeout", "timeout"],
  ] as const)("shows the state %s as %s", (state, status) => {
    expect(toRunObject(aRun({ state }), []).status).toBe(status);
  });

  it("shows times as RFC 3339 in UTC, and null for what has not happened", () => {
    const run = toRunObject(aRun({ createdAt: 1_700_000_000_123, startedAt: 0 }), []);
    expect(run).toMatchObject({
      created_at: "2023-11-14T22:13:20.123Z",
      started_at: "1970-01-01T00:00:00.000Z",
      ended_at: null,
    });
  });

  it("lists deliveries in order of export, with the address of their bytes", () => {
    const run = toRunObject(aRun({ state: "completed" }), [aFile(), aFile({ id: "file_2", state: "sent" })]);
    expect(run.deliveries).toEqual([
      {
        id: "file_1",
        name: "chart.png",
        kind: "image",
        mime_type: "image/png",
        bytes: 1234,
        sha256: "a".repeat(64),
        url: "/v1/files/file_1/content",
        state: "pending",
      },
      expect.objectContaining({ id: "file_2", url: "/v1/files/file_2/content", state: "sent" }),
    ]);
  });

  it.each(["failed", "timeout", "running"] as const)("lists them for a %s run as well", (state) => {
    expect(toRunObject(aRun({ state }), [aFile()]).deliveries).toHaveLength(1);
  });

  it("lists none for a cancelled run", () => {
    expect(toRunObject(aRun({ state: "cancelled" }), [aFile()]).deliveries).toEqual([]);
  });

  it("marks the text of a run that failed after it had begun to answer", () => {
    const outcome = anOutcome({ state: "failed", message: { content: "Half", partial: true } });
    expect(toRunObject({ ...aRun(), ...outcome }, []).message).toEqual({
      role: "assistant",
      content: "Half",
      partial: true,
    });
  });

  it("does not mark a whole text, and has no message where there is no text", () => {
    const outcome = anOutcome({ message: { content: "Whole", partial: false } });
    expect(toRunObject({ ...aRun(), ...outcome }, []).message).toEqual({
      role: "assistant",
      content: "Whole",
    });
    expect(toRunObject(aRun(), []).message).toBeNull();
  });

  it("carries what the run came to", () => {
    const outcome = anOutcome({
      outboxLeft: [{ path: "/workspace/outbox/run_1/a.txt", bytes: 3 }],
      warnings: [{ code: "w", message: "W." }],
      error: { code: "runner.error", message: "E.", retryable: false, hint: "H." },
    });
    expect(toRunObject({ ...aRun(), ...outcome }, [])).toMatchObject({
      outbox_left: outcome.outboxLeft,
      warnings: outcome.warnings,
      error: outcome.error,
      finish_reason: "stop",
      tool_rounds: 1,
      model: "main",
    });
  });
});

describe("toDelivery", () => {
  it("tells nothing of the path in the box", () => {
    expect(JSON.stringify(toDelivery(aFile()))).not.toContain("/workspace");
  });
});

describe("toTime", () => {
  it("writes Unix milliseconds in UTC", () => {
    expect(toTime(0)).toBe("1970-01-01T00:00:00.000Z");
  });
});
