import { describe, expect, it } from "vitest";
import type { Message } from "../../../src/domain/message.js";
import { redactInline, redactInlineText, redactInlineValue } from "../../../src/runs/redact-inline.js";

const anImage = (url: string): Message => ({
  role: "assistant",
  content: [
    { type: "text", text: "See" },
    { type: "image_url", image_url: { url } },
  ],
});

describe("redactInline", () => {
  it.each([
    ["data:image/png;base64,AAAA", "[image image/png: inline content left out]"],
    ["DATA:image/svg+xml,%3Csvg%3E", "[image image/svg+xml: inline content left out]"],
    ["data:,AAAA", "[image of unknown type: inline content left out]"],
    ["data:text/html\n<x>;base64,AAAA", "[image text/html: inline content left out]"],
  ])("puts a mark in the place of %s", (url, text) => {
    expect(redactInline(anImage(url)).content).toEqual([
      { type: "text", text: "See" },
      { type: "text", text },
    ]);
  });

  it.each<Message>([
    { role: "assistant", content: "data:image/png;base64,AAAA" },
    { role: "assistant", content: null, tool_calls: [] },
    anImage("https://example.com/a.png"),
  ])("leaves a message without inline bytes as it is", (message) => {
    expect(redactInline(message)).toEqual(message);
  });

  it("keeps all other fields", () => {
    const message = { ...anImage("data:image/png;base64,AAAA"), extra_content: { signature: "s" } };
    expect(redactInline(message)).toMatchObject({ extra_content: { signature: "s" } });
  });
});

describe("redactInlineValue", () => {
  it("leaves out bodies of data URIs and long bare base64, at any depth", () => {
    const body = Buffer.from("x".repeat(900)).toString("base64");
    const value = { a: [{ b: `see data:text/plain;charset=utf-8;base64,${body} end` }, body], n: 1, z: null };
    expect(redactInlineValue(value)).toEqual({
      a: [{ b: "see [text/plain: inline content left out] end" }, "[file: inline content left out]"],
      n: 1,
      z: null,
    });
  });

  it("leaves words, hashes and addresses as they are", () => {
    const text = `${"a".repeat(64)} https://example.com/${"b".repeat(200)} data: none`;
    expect(redactInlineText(text)).toBe(text);
  });
});
