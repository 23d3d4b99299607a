import { describe, expect, it } from "vitest";
import { messageSchema, messageText } from "../../../src/domain/message.js";

describe("messageText", () => {
  it.each([
    [null, ""],
    ["", ""],
    ["plain", "plain"],
    [[], ""],
    [[{ type: "text" as const, text: "one" }], "one"],
    [
      [
        { type: "text" as const, text: "one" },
        { type: "image_url" as const, image_url: { url: "https://host.example/a.png" } },
        { type: "text" as const, text: "two" },
      ],
      "one two",
    ],
  ])("reads %j as %j", (content, text) => {
    expect(messageText({ content })).toBe(text);
  });
});

describe("messageSchema", () => {
  it("keeps unknown fields of a message and of its calls, which go back to the provider unchanged", () => {
    const message = {
      role: "assistant",
      content: null,
      reasoning_content: "so",
      tool_calls: [
        {
          id: "c1",
          type: "function",
          function: { name: "exec", arguments: "{}", strict: true },
          extra_content: { signature: "s" },
        },
      ],
    };
    expect(messageSchema.parse(message)).toEqual(message);
  });

  it.each([
    { role: "developer", content: "x" },
    { role: "user" },
    { role: "user", content: 3 },
    { role: "user", content: [{ type: "video", url: "x" }] },
    { role: "assistant", content: "x", tool_calls: [{ id: "c1", type: "function" }] },
  ])("refuses %j", (message) => {
    expect(messageSchema.safeParse(message).success).toBe(false);
  });
});
