import { describe, expect, it } from "vitest";
import { toWireChunk, toWireReply } from "../../../../src/runs/host/wire-replies.js";

const REPLY = { text: "Hi", reasoning: null, calls: [], finishReason: "stop", usage: null };

describe("toWireReply", () => {
  it("gives a message that can go back as it is", () => {
    expect(toWireReply(REPLY)).toEqual({
      message: { role: "assistant", content: "Hi" },
      reasoning: null,
      finish_reason: "stop",
      usage: null,
    });
  });

  it("writes calls as messages hold them, whatever form their arguments came in", () => {
    const calls = [
      { id: "a", name: "read", arguments: '{"path":"x"}', extra: { signature: "s" } },
      { name: "list", arguments: { depth: 1 } },
      {},
    ];
    expect(
      toWireReply({ ...REPLY, text: null, calls, extra: { reasoning_content: "Hm" } })["message"],
    ).toEqual({
      role: "assistant",
      content: null,
      reasoning_content: "Hm",
      tool_calls: [
        { id: "a", type: "function", signature: "s", function: { name: "read", arguments: '{"path":"x"}' } },
        { id: "call_1", type: "function", function: { name: "list", arguments: '{"depth":1}' } },
        { id: "call_2", type: "function", function: { name: "", arguments: "{}" } },
      ],
    });
  });
});

describe("toWireChunk", () => {
  it("renames the finish reason and leaves the rest", () => {
    expect(toWireChunk({ text: "a" })).toEqual({ text: "a" });
    expect(toWireChunk({ calls: [{ id: "a" }], finishReason: "stop" })).toEqual({
      calls: [{ id: "a" }],
      finish_reason: "stop",
    });
  });
});
