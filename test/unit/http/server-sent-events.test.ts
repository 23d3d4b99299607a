import { createParser, type EventSourceMessage } from "eventsource-parser";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatEvent } from "../../../src/http/server-sent-events.js";

function parse(text: string): EventSourceMessage[] {
  const events: EventSourceMessage[] = [];
  createParser({ onEvent: (event) => events.push(event) }).feed(text);
  return events;
}

function readJson(text: string): unknown {
  return JSON.parse(text);
}

describe("formatEvent", () => {
  it("writes number, type and one line of data", () => {
    expect(formatEvent({ id: 7, event: "message.delta", data: { a: "b\nc" } })).toBe(
      'id: 7\nevent: message.delta\ndata: {"a":"b\\nc"}\n\n',
    );
  });

  it("leaves the id out where the client's last one must stay", () => {
    expect(formatEvent({ event: "error", data: 1 })).toBe("event: error\ndata: 1\n\n");
  });

  it("is read by a standard parser as what it was, whatever the text", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary" }), { minLength: 1 }), (texts) => {
        const stream = texts
          .map((text, index) => formatEvent({ id: index, event: "x", data: { text } }))
          .join("");
        const read = parse(stream).map(({ data }) => readJson(data));
        expect(read).toEqual(texts.map((text) => ({ text })));
      }),
    );
  });
});
