import { describe, expect, it } from "vitest";
import { chatSchema, contentItemSchema, eventTypeSchema, inputText } from "../../../src/domain/event.js";

describe("chatSchema", () => {
  it("fills in what a request does not say", () => {
    expect(chatSchema.parse({ launcher_id: "42" })).toEqual({
      launcher_type: "person",
      launcher_id: "42",
      sender_id: null,
      sender_name: null,
      bot_id: null,
      conversation_id: null,
      thread_id: null,
    });
  });

  it.each(["person", "group", "X", "discord-dm", "a_1", "a".repeat(32)])(
    "takes %j as a launcher type",
    (word) => {
      expect(chatSchema.safeParse({ launcher_type: word, launcher_id: "1" }).success).toBe(true);
    },
  );

  it.each(["", "1a", "a b", "a:b", "a".repeat(33), "grüppe", 5])("refuses %j as a launcher type", (word) => {
    expect(chatSchema.safeParse({ launcher_type: word, launcher_id: "1" }).success).toBe(false);
  });

  it.each([
    {},
    { launcher_id: "" },
    { launcher_id: null },
    { launcher_id: "x".repeat(513) },
    { launcher_id: "1", sender_id: 42 },
    { launcher_id: "1", thread_id: "" },
    { launcher_id: "1", lancher_type: "person" },
  ])("refuses the chat %j", (chat) => {
    expect(chatSchema.safeParse(chat).success).toBe(false);
  });

  it("leaves ids exactly as they came", () => {
    const ids = { launcher_id: " 4\u0301 ", sender_id: "", bot_id: "Ä" };
    expect(chatSchema.parse(ids)).toMatchObject(ids);
  });
});

describe("inputText", () => {
  const contents = [
    { type: "text" as const, text: "one" },
    { type: "attachment" as const, reference: "attachment-0" },
    { type: "text" as const, text: "two" },
  ];

  it("is the text where there is one, empty or not", () => {
    expect(inputText({ text: "said", contents })).toBe("said");
    expect(inputText({ text: "", contents })).toBe("");
  });

  it("is the text items joined with one space where the text is null", () => {
    expect(inputText({ text: null, contents })).toBe("one two");
    expect(inputText({ text: null, contents: [] })).toBe("");
  });
});

describe("the borders of an event", () => {
  it("knows the event types of the protocol and no name of a platform", () => {
    expect(eventTypeSchema.safeParse("message.received").success).toBe(true);
    expect(eventTypeSchema.safeParse("im.message.receive_v1").success).toBe(false);
  });

  it("has no place for inline bytes among the contents", () => {
    const inline = { type: "attachment", reference: "attachment-0", data: "AAAA" };
    expect(contentItemSchema.parse(inline)).toEqual({ type: "attachment", reference: "attachment-0" });
    expect(contentItemSchema.safeParse({ type: "file_base64", data: "AAAA" }).success).toBe(false);
  });
});
