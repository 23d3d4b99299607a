import { describe, expect, it } from "vitest";
import { readAppended } from "../../../../src/runs/host/appended-result.js";

const call = { tool_call_id: "c1", tool_name: "audit" };

describe("readAppended", () => {
  it.each([
    { type: "tool.call.started", data: { ...call, parameters: {} } },
    { type: "tool.call.completed", data: { ...call, result: { ok: true } } },
    { type: "action.requested", data: { action: "ban", reason: "spam" } },
    { type: "warning", data: { code: "audit", message: "Looked at." } },
  ])("takes what only tells something: $type", (result) => {
    expect(readAppended(result, "run_1")).toEqual(result);
  });

  it("leaves out what would go into the transcript", () => {
    const assistant_message = { role: "assistant", content: "I call." };
    const started = { type: "tool.call.started", data: { ...call, parameters: {}, assistant_message } };
    expect(readAppended(started, "run_1").data).toEqual({ ...call, parameters: {} });
    const ended = { type: "tool.call.completed", data: { ...call, error: "no", model_text: "secret" } };
    expect(readAppended(ended, "run_1").data).toEqual({ ...call, error: "no" });
  });

  it.each([
    ["a message", { type: "message.completed", data: { message: { role: "assistant", content: "Hi" } } }],
    ["a snapshot", { type: "message.delta", data: { chunk: { role: "assistant", content: "H" } } }],
    ["state", { type: "state.updated", data: { scope: "runner", key: "k", value: 1 } }],
    ["an end", { type: "run.completed", data: {} }],
    ["a failure", { type: "run.failed", data: { error: "e", code: "c", retryable: false } }],
    ["an unknown type", { type: "foo.bar", data: {} }],
    ["a name of the host's own", { type: "delivery.created", data: {} }],
    ["a name that every object has", { type: "constructor", data: {} }],
    ["data that do not fit", { type: "warning", data: { code: 1 } }],
    ["no result at all", "warning"],
    ["nothing", null],
  ])("refuses %s", (_what, result) => {
    expect(() => readAppended(result, "run_1")).toThrow(
      expect.objectContaining({ code: "host.invalid_argument" }),
    );
  });

  it("refuses what is too large to be kept", () => {
    const data = { action: "note", text: "x".repeat(1024 * 1024) };
    expect(() => readAppended({ type: "action.requested", data }, "run_1")).toThrow(
      expect.objectContaining({ code: "host.payload_too_large" }),
    );
  });
});
