import { describe, expect, it } from "vitest";
import { buildTrigger } from "../../../src/runs/build-trigger.js";
import { eventRecordOf } from "../../../src/runs/event-record.js";
import { aChat, anEvent } from "../../support/builders.js";
import { aRun } from "../../support/records.js";

function summaryOf(fields: Parameters<typeof aRun>[0]): string {
  return eventRecordOf(aRun(fields), 2_000).summary;
}

const EMPTY = { text: null, contents: [], attachments: [] };

describe("eventRecordOf", () => {
  it("holds what asked for the run, and where it belongs", () => {
    const chat = aChat({ bot_id: "web", thread_id: "t1" });
    expect(eventRecordOf(aRun({ chat }), 2_000)).toEqual({
      tenant: "main",
      conversation: "conversation-1",
      run_id: "run_1",
      event_id: "host:1",
      event_type: "message.received",
      event_time: 1,
      source: "rest",
      source_event_type: null,
      actor: { actor_type: "user", id: "42", name: "Ann" },
      subject: { type: "message", id: "run_1", data: {} },
      data: {},
      summary: "Plot the table.",
      bot_id: "web",
      conversation_id: "person_42",
      thread_id: "t1",
      created_at: 2_000,
    });
  });

  it("names no conversation for an event without a chat", () => {
    expect(eventRecordOf(aRun({ chat: null }), 2_000)).toMatchObject({
      bot_id: null,
      conversation_id: null,
      thread_id: null,
    });
  });

  it("cuts the summary to 1000 characters and never splits one", () => {
    const text = "🎉".repeat(1500);
    expect(summaryOf({ input: { ...EMPTY, text } })).toBe("🎉".repeat(1000));
  });

  it("names attachments and leaves their bytes out", () => {
    const attachment = {
      index: 0,
      name: "a.png",
      path: null,
      bytes: 9,
      mime_type: "image/png",
      state: "pending" as const,
      reason: null,
    };
    expect(summaryOf({ input: { ...EMPTY, text: "See" }, attachments: [attachment] })).toBe("See [a.png]");
    const pasted = `x data:image/png;base64,${"A".repeat(900)} y`;
    expect(summaryOf({ input: { ...EMPTY, text: pasted } })).toBe("x [image/png: inline content left out] y");
  });

  it("takes what the data of the event say where there is no text, else what it is about", () => {
    const facts = { id: "run_1", chat: null, createdAt: 1_000 };
    const event = anEvent({
      type: "message.recalled",
      subject: { type: null, id: "m7", data: {} },
      data: { summary: "“Hello” was taken back." },
    });
    const input = EMPTY;
    expect(summaryOf({ input, trigger: buildTrigger(event, facts) })).toBe("“Hello” was taken back.");
    expect(summaryOf({ input, trigger: buildTrigger({ ...event, data: {} }, facts) })).toBe(
      "message.recalled: message m7",
    );
    const unnamed = { ...event, subject: null, data: {} };
    expect(summaryOf({ input, trigger: buildTrigger(unnamed, facts) })).toBe("message.recalled: message");
  });
});
