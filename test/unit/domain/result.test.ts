import { describe, expect, it } from "vitest";
import { FINISH_REASONS, finishReasonSchema, RESULT_DATA, RESULT_TYPES } from "../../../src/domain/result.js";

const message = { role: "assistant", content: "Done." };

describe("result types", () => {
  it("are those of the protocol", () => {
    expect([...RESULT_TYPES].toSorted()).toEqual([
      "action.requested",
      "message.completed",
      "message.delta",
      "run.completed",
      "run.failed",
      "state.updated",
      "tool.call.completed",
      "tool.call.started",
      "warning",
    ]);
  });

  it.each([
    ["message.delta", { chunk: { role: "assistant", content: "D", is_final: true, msg_sequence: 1 } }],
    ["message.completed", { message, file_ids: ["file_1"] }],
    ["tool.call.started", { tool_call_id: "c1", tool_name: "exec", parameters: { command: "ls" } }],
    ["tool.call.completed", { tool_call_id: "c1", tool_name: "exec", result: { ok: true }, duration_ms: 3 }],
    ["tool.call.completed", { tool_call_id: "c1", tool_name: "exec", error: "It failed." }],
    ["state.updated", { scope: "actor", key: "k", value: null }],
    ["run.completed", {}],
    ["run.completed", { message, finish_reason: "stop", tool_rounds: 2, model: "main" }],
    ["run.failed", { error: "It failed.", code: "runner.error", retryable: false }],
    ["action.requested", { action: "react", emoji: "👍" }],
    ["warning", { code: "limit", message: "A limit struck." }],
  ] as const)("take the data of %s: %j", (type, data) => {
    expect(RESULT_DATA[type].parse(data)).toEqual(data);
  });

  it.each([
    ["message.delta", {}],
    ["message.delta", { chunk: { role: "user", content: "x" } }],
    ["message.delta", { chunk: { role: "assistant", content: "x", delta: "y" } }],
    ["message.delta", { chunk: { role: "assistant", content: "x", msg_sequence: 0 } }],
    ["message.completed", { message: { content: "x" } }],
    ["message.completed", { message, file_ids: ["chart.png"] }],
    ["message.completed", { message, surprise: 1 }],
    ["tool.call.started", { tool_call_id: "", tool_name: "exec", parameters: {} }],
    ["tool.call.started", { tool_call_id: "c1", tool_name: "exec", parameters: "{}" }],
    ["tool.call.completed", { tool_name: "exec" }],
    ["tool.call.completed", { tool_call_id: "c1", tool_name: "exec", duration_ms: -1 }],
    ["state.updated", { scope: "actor" }],
    ["run.completed", { finish_reason: "tired" }],
    ["run.failed", { error: "x", code: "runner.error" }],
    ["action.requested", {}],
    ["warning", { code: "limit" }],
  ] as const)("refuse data of %s with too little, too much or the wrong kind: %j", (type, data) => {
    expect(RESULT_DATA[type].safeParse(data).success).toBe(false);
  });
});

describe("finish reasons", () => {
  it.each(FINISH_REASONS)("know %s", (reason) => {
    expect(finishReasonSchema.parse(reason)).toBe(reason);
  });
});
