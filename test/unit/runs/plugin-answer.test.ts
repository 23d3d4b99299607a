import { describe, expect, it } from "vitest";
import { ZodError } from "zod";
import { readPluginAnswer } from "../../../src/runs/plugin-answer.js";

const NOTHING = { isPrevented: false, reply: null, altered: null, prompt: null };
const FILE = { name: null, mimeType: null };

describe("readPluginAnswer", () => {
  it.each([undefined, null, {}, { prevent_default: false }, { remark: "seen" }])(
    "reads %j as no intervention",
    (answer) => {
      expect(readPluginAnswer(answer)).toEqual(NOTHING);
    },
  );

  it.each([
    ["Hello", "Hello"],
    [{ type: "text", text: "Hello" }, "Hello"],
    [
      [
        { type: "text", text: "Hello" },
        { type: "text", text: "you" },
      ],
      "Hello you",
    ],
    ["", null],
    [null, null],
    [[], null],
  ])("reads the reply %j", (reply, text) => {
    expect(readPluginAnswer({ prevent_default: true, reply })).toEqual({
      ...NOTHING,
      isPrevented: true,
      reply: text,
    });
  });

  it("takes a text, one element or a list in place of the user's content", () => {
    expect(readPluginAnswer({ user_message_alter: "New" }).altered).toBe("New");
    expect(readPluginAnswer({ user_message_alter: "" }).altered).toBe("");
    expect(readPluginAnswer({ user_message_alter: { type: "text", text: "New" } }).altered).toEqual([
      { type: "text", text: "New" },
    ]);
    const list = [
      { type: "text", text: "See" },
      { type: "attachment", reference: "attachment-0" },
      { type: "image_url", url: "https://example.com/a.png" },
      { type: "voice_base64", data: "QQ==", name: "a.ogg", mime_type: "audio/ogg" },
    ];
    expect(readPluginAnswer({ user_message_alter: list }).altered).toEqual([
      { type: "text", text: "See" },
      { type: "kept", reference: "attachment-0" },
      {
        type: "attachment",
        kind: "image",
        ...FILE,
        source: { kind: "url", url: "https://example.com/a.png" },
      },
      {
        type: "attachment",
        kind: "voice",
        name: "a.ogg",
        mimeType: "audio/ogg",
        source: { kind: "base64", data: "QQ==" },
      },
    ]);
  });

  it("takes a list of messages as the prompt", () => {
    const prompt = [{ role: "system", content: "Be brief." }];
    expect(readPluginAnswer({ prompt }).prompt).toEqual(prompt);
  });

  it.each([
    "yes",
    5,
    [],
    { prevent_default: "true" },
    { reply: 5 },
    { user_message_alter: 5 },
    { user_message_alter: { type: "video", url: "x" } },
    { user_message_alter: [{ type: "text" }] },
    { prompt: "Be brief." },
    { prompt: [{ role: "judge", content: "" }] },
  ])("refuses the whole of %j", (answer) => {
    expect(() => readPluginAnswer(answer)).toThrow(ZodError);
  });
});
