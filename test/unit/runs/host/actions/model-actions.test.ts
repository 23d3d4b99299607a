import { describe, expect, it } from "vitest";
import type { ChatModel, ChatReply } from "../../../../../src/ports/chat-model.js";
import { FakeRunHost } from "../../../../fakes/fake-run-host.js";
import { ScriptedModel, text } from "../../../../fakes/scripted-model.js";
import { performAction } from "../../../../support/perform-action.js";

const ASK = { model_id: "main", messages: [{ role: "user", content: "Hello" }] };
const REPLY: ChatReply = { text: "Hi", reasoning: null, calls: [], finishReason: "stop", usage: null };

function answering(reply: ChatReply): ChatModel {
  return {
    complete: async () => reply,
    stream: () => {
      throw new Error("Nobody streams here.");
    },
  };
}

describe("invoke_llm", () => {
  it("passes the call on, and gives a message that can go back as it is", async () => {
    const host = new FakeRunHost({ models: { main: answering(REPLY) } });
    const call = { ...ASK, max_output_tokens: 9, remove_think: true };
    expect(await performAction(host, "invoke_llm", call)).toEqual({
      message: { role: "assistant", content: "Hi" },
      reasoning: null,
      finish_reason: "stop",
      usage: null,
    });
    expect(host.modelCalls).toEqual([
      { modelId: "main", messages: ASK.messages, tools: [], maxOutputTokens: 9, removeThink: true },
    ]);
  });

  it("writes calls as messages hold them, whatever form their arguments came in", async () => {
    const calls = [
      { id: "a", name: "read", arguments: '{"path":"x"}', extra: { signature: "s" } },
      { name: "list", arguments: { depth: 1 } },
      {},
    ];
    const reply = { ...REPLY, text: null, calls, extra: { reasoning_content: "Hm" } };
    const host = new FakeRunHost({ models: { main: answering(reply) } });
    expect(await performAction(host, "invoke_llm", ASK)).toMatchObject({
      message: {
        role: "assistant",
        content: null,
        reasoning_content: "Hm",
        tool_calls: [
          {
            id: "a",
            type: "function",
            signature: "s",
            function: { name: "read", arguments: '{"path":"x"}' },
          },
          { id: "call_1", type: "function", function: { name: "list", arguments: '{"depth":1}' } },
          { id: "call_2", type: "function", function: { name: "", arguments: "{}" } },
        ],
      },
    });
  });

  it("passes a refusal of the host on", async () => {
    const refused = performAction(new FakeRunHost(), "invoke_llm", ASK);
    await expect(refused).rejects.toMatchObject({ code: "host.unauthorized" });
  });
});

describe("invoke_llm_stream", () => {
  it("gives the pieces as they come, the finish reason in the spelling of the wire", async () => {
    using model = new ScriptedModel([text(["Hi", " there"])]);
    const pieces = await performAction(
      new FakeRunHost({ models: { main: model } }),
      "invoke_llm_stream",
      ASK,
    );
    expect(pieces).toContainEqual({ text: " there" });
    expect(pieces).toContainEqual(expect.objectContaining({ finish_reason: "stop" }));
    expect(JSON.stringify(pieces)).not.toContain("finishReason");
  });
});
