import { describe, expect, it } from "vitest";
import {
  isTerminal,
  publicStatus,
  publicStatusSchema,
  RUN_EVENT_TYPES,
  RUN_STATES,
  runErrorSchema,
  runSchema,
  TERMINAL_EVENTS,
  toOpenState,
} from "../../../src/domain/run.js";
import { NO_USAGE } from "../../../src/domain/usage.js";

describe("run states", () => {
  it.each(["completed", "failed", "cancelled", "timeout"] as const)("end with %s", (state) => {
    expect(isTerminal(state)).toBe(true);
    expect(publicStatus(state)).toBe(state);
  });

  it.each(["created", "queued", "claimed"] as const)("show %s to clients as queued", (state) => {
    expect(isTerminal(state)).toBe(false);
    expect(publicStatus(state)).toBe("queued");
  });

  it("show a running run as running", () => {
    expect(isTerminal("running")).toBe(false);
    expect(publicStatus("running")).toBe("running");
  });

  it.each(RUN_STATES)("have a public status for %s", (state) => {
    expect(publicStatusSchema.safeParse(publicStatus(state)).success).toBe(true);
  });
});

describe("run events", () => {
  it("have three that end a stream", () => {
    expect(TERMINAL_EVENTS).toEqual(["run.completed", "run.failed", "run.cancelled"]);
    expect(RUN_EVENT_TYPES).toEqual(expect.arrayContaining([...TERMINAL_EVENTS]));
  });
});

describe("runSchema", () => {
  const run = {
    id: "run_1",
    object: "run",
    status: "completed",
    pipeline: "default",
    runner: "plugin:berth/local-agent/default",
    session: { id: "ses_1", key: "person_42" },
    chat: {
      launcher_type: "person",
      launcher_id: "42",
      sender_id: null,
      sender_name: null,
      bot_id: null,
      conversation_id: null,
      thread_id: null,
    },
    created_at: "2026-01-01T00:00:00.000Z",
    started_at: null,
    ended_at: null,
    message: { role: "assistant", content: "Done." },
    deliveries: [],
    attachments: [],
    outbox_left: [{ path: "/workspace/outbox/run_1/draft.txt", bytes: 10 }],
    model: null,
    tool_rounds: 0,
    usage: NO_USAGE,
    finish_reason: "stop",
    warnings: [{ code: "limit", message: "A limit struck." }],
    error: null,
  };

  it("takes the run object of the contract", () => {
    expect(runSchema.parse(run)).toEqual(run);
    const partial = { ...run, message: { role: "assistant", content: "half", partial: true } };
    expect(runSchema.parse(partial)).toEqual(partial);
  });

  it.each([
    { status: "claimed" },
    { id: "ses_1" },
    { session: { id: "run_1", key: "k" } },
    { finish_reason: "x" },
  ])("refuses %j", (fault) => {
    expect(runSchema.safeParse({ ...run, ...fault }).success).toBe(false);
  });
});

describe("runErrorSchema", () => {
  it("keeps codes of external runners, hints and details", () => {
    const error = {
      code: "runner.external.quota",
      message: "The service refused.",
      retryable: false,
      hint: "Ask its operator.",
      details: { limit: 3 },
    };
    expect(runErrorSchema.parse(error)).toEqual(error);
  });
});

describe("toOpenState", () => {
  it.each(["created", "queued", "claimed", "running"])("takes %s", (state) => {
    expect(toOpenState(state)).toBe(state);
  });

  it.each(["completed", "sleeping", ""])("refuses %j, and names the states that there are", (state) => {
    expect(() => toOpenState(state)).toThrow(
      expect.objectContaining({
        code: "request.invalid",
        hint: "Take one of created, queued, claimed, running.",
      }),
    );
  });
});
