import { describe, expect, it } from "vitest";
import { buildBody, toWireId } from "../../../../src/adapters/openai/request-body.js";
import type { Message } from "../../../../src/domain/message.js";
import { modelSettings } from "./openai-model.js";

const LONG_ID = `call_${"x".repeat(60)}`;

function bodyOf(messages: readonly Message[], settings: Parameters<typeof modelSettings>[1] = {}) {
  return buildBody({ messages, tools: [] }, modelSettings("http://localhost/v1", settings), {
    isStream: false,
  });
}

function streamOptionsOf(extraArgs: Readonly<Record<string, unknown>>, isStream: boolean): unknown {
  const settings = modelSettings("http://localhost/v1", { extraArgs });
  return buildBody({ messages: [], tools: [] }, settings, { isStream })["stream_options"];
}

describe("the request body", () => {
  it("replaces an id that is too long by the same derived one in call and answer, every time", () => {
    const messages: Message[] = [
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: LONG_ID, type: "function", function: { name: "exec", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: LONG_ID, content: "done" },
    ];
    const derived = toWireId(LONG_ID);
    expect(derived).toMatch(/^call_[0-9a-f]{24}$/);
    expect(bodyOf(messages)).toMatchObject({
      messages: [{ tool_calls: [{ id: derived }] }, { tool_call_id: derived }],
    });
    expect(bodyOf(messages)).toEqual(bodyOf(messages));
    expect(toWireId("x".repeat(40))).toBe("x".repeat(40));
  });

  it("sends unknown fields of messages and calls back as they are", () => {
    const signed = { extra_content: { google: { thought_signature: "a+/=" } } };
    const message: Message = {
      role: "assistant",
      content: null,
      reasoning_content: "because",
      tool_calls: [
        {
          id: "c1",
          type: "function",
          ...signed,
          function: { name: "exec", arguments: '{ "a":1}', weight: 2 },
        },
      ],
    };
    expect(bodyOf([message])["messages"]).toEqual([message]);
  });

  it("leaves out empty lists of calls and tools", () => {
    const body = bodyOf([{ role: "assistant", content: "a", tool_calls: [] }]);
    expect(body["messages"]).toEqual([{ role: "assistant", content: "a" }]);
    expect(body).not.toHaveProperty("tools");
  });

  it("lets the operator replace the stream options, or leave them out", () => {
    expect(streamOptionsOf({}, true)).toEqual({ include_usage: true });
    expect(streamOptionsOf({ stream_options: { include_usage: false } }, true)).toEqual({
      include_usage: false,
    });
    expect(streamOptionsOf({ stream_options: null }, true)).toBeUndefined();
    expect(streamOptionsOf({ stream_options: { include_usage: true } }, false)).toBeUndefined();
  });

  it("names tools as functions", () => {
    const tools = [{ name: "exec", description: "Runs.", parameters: { type: "object" } }];
    const body = buildBody({ messages: [], tools }, modelSettings("http://localhost/v1"), { isStream: true });
    expect(body["tools"]).toEqual([{ type: "function", function: tools[0] }]);
  });

  it("sends a user's list of texts as one text, but only where images cannot come", () => {
    const content: Message["content"] = [
      { type: "text", text: "a" },
      { type: "text", text: "b" },
    ];
    expect(bodyOf([{ role: "user", content }])["messages"]).toEqual([{ role: "user", content: "a\n\nb" }]);
    expect(bodyOf([{ role: "user", content }], { abilities: ["vision"] })["messages"]).toEqual([
      { role: "user", content },
    ]);
    expect(bodyOf([{ role: "system", content }])["messages"]).toEqual([{ role: "system", content }]);
  });

  it.each([
    { baseUrl: "https://api.openai.com/v1", field: "max_completion_tokens" },
    { baseUrl: "https://x.openai.azure.com/v1", field: "max_completion_tokens" },
    { baseUrl: "https://openai.com.example/v1", field: "max_tokens" },
    { baseUrl: "not an address", field: "max_tokens" },
  ])("limits the output in the words of $baseUrl", ({ baseUrl, field }) => {
    const request = { messages: [], tools: [], maxOutputTokens: 100 };
    const limited = buildBody(request, modelSettings(baseUrl, { maxOutputTokens: 50 }), { isStream: false });
    expect(limited[field]).toBe(50);
    const own = modelSettings(baseUrl, { maxOutputTokens: 50, extraArgs: { max_tokens: 7 } });
    expect(buildBody(request, own, { isStream: false })).toMatchObject({ max_tokens: 7 });
    expect(buildBody(request, own, { isStream: false })).not.toHaveProperty("max_completion_tokens");
  });
});
