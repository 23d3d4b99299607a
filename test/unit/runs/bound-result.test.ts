import { describe, expect, it } from "vitest";
import type { RunnerResult } from "../../../src/domain/result.js";
import { boundResult } from "../../../src/runs/bound-result.js";

const MIB = 1024 * 1024;
const run_id = "run_1";

function boundData(result: RunnerResult): unknown {
  const bound = boundResult(result);
  return bound.ok ? bound.result.data : bound.fault;
}

function aMessage(content: string): RunnerResult {
  return { type: "message.completed", data: { message: { role: "assistant", content } }, run_id };
}

describe("boundResult", () => {
  it("leaves a result of exactly 1 MiB as it is", () => {
    const empty = JSON.stringify(aMessage("").data).length;
    const largest = aMessage("x".repeat(MIB - empty));
    expect(boundResult(largest)).toEqual({ ok: true, result: largest });
    expect(boundData(aMessage("x".repeat(MIB - empty + 1)))).not.toEqual(largest.data);
  });

  it("counts bytes, not characters", () => {
    expect(boundData(aMessage("€".repeat(MIB / 2)))).toEqual({
      message: { role: "assistant", content: `${"€".repeat(10_000)}\n[cut: 524288 characters, kept 10000]` },
    });
  });

  it("cuts every long text of a message to 10,000 characters and says so", () => {
    const content = [
      { type: "text" as const, text: "x".repeat(MIB) },
      { type: "text" as const, text: "short" },
    ];
    const result: RunnerResult = {
      type: "message.completed",
      data: { message: { role: "assistant", content } },
      run_id,
    };
    expect(boundData(result)).toEqual({
      message: {
        role: "assistant",
        content: [
          { type: "text", text: `${"x".repeat(10_000)}\n[cut: 1048576 characters, kept 10000]` },
          { type: "text", text: "short" },
        ],
      },
    });
  });

  it("cuts the text of an error", () => {
    const data = { error: "x".repeat(MIB), code: "runner.error", retryable: true };
    expect(boundData({ type: "run.failed", data, run_id })).toEqual({
      ...data,
      error: `${"x".repeat(10_000)}\n[cut: 1048576 characters, kept 10000]`,
    });
  });

  it("does not keep half of a character", () => {
    const text = `${"x".repeat(9999)}${"🎉".repeat(MIB / 4)}`;
    expect(boundData(aMessage(text))).toEqual({
      message: {
        role: "assistant",
        content: `${"x".repeat(9999)}\n[cut: ${text.length} characters, kept 9999]`,
      },
    });
  });

  it("puts a preview in the place of an oversized tool result, and keeps what the model saw", () => {
    const data = { tool_call_id: "c1", tool_name: "exec", result: "x".repeat(MIB), model_text: "seen" };
    const original = JSON.stringify(data);
    expect(boundData({ type: "tool.call.completed", data, run_id })).toEqual({
      tool_call_id: "c1",
      tool_name: "exec",
      model_text: "seen",
      result: {
        type: "tool_result_preview",
        truncated: true,
        reason: "result_too_large",
        original_chars: original.length,
        preview: original.slice(0, 10_000),
      },
    });
  });

  it.each<RunnerResult>([
    { type: "action.requested", data: { action: "x", more: "x".repeat(MIB) }, run_id },
    { type: "state.updated", data: { scope: "actor", key: "k", value: "x".repeat(MIB) }, run_id },
    {
      type: "tool.call.started",
      data: { tool_call_id: "c1", tool_name: "exec", parameters: { command: "x".repeat(MIB) } },
      run_id,
    },
    { type: "warning", data: { code: "x", message: "x".repeat(MIB) }, run_id },
  ])("refuses any other kind that is too large: $type", (result) => {
    expect(boundResult(result)).toEqual({ ok: false, fault: "too_large" });
  });

  it("refuses a message that is still too large when its texts are cut", () => {
    const content = Array.from({ length: 200 }, () => ({ type: "text" as const, text: "x".repeat(10_001) }));
    const data = { message: { role: "assistant" as const, content } };
    expect(boundResult({ type: "message.completed", data, run_id })).toEqual({
      ok: false,
      fault: "too_large",
    });
  });

  it("refuses a tool result whose name alone is too large", () => {
    const data = { tool_call_id: "c1", tool_name: "x".repeat(MIB), result: 1 };
    expect(boundResult({ type: "tool.call.completed", data, run_id })).toEqual({
      ok: false,
      fault: "too_large",
    });
  });

  it("refuses what JSON cannot carry", () => {
    const loop: Record<string, unknown> = {};
    loop["self"] = loop;
    for (const result of [loop, { big: 1n }])
      expect(
        boundResult({
          type: "tool.call.completed",
          data: { tool_call_id: "c", tool_name: "t", result },
          run_id,
        }),
      ).toEqual({ ok: false, fault: "not_json" });
  });
});
