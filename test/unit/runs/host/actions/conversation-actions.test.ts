import { describe, expect, it } from "vitest";
import type { TranscriptItem } from "../../../../../src/domain/history.js";
import type { HistoryRequest } from "../../../../../src/ports/run-host.js";
import { FakeRunHost } from "../../../../fakes/fake-run-host.js";
import { performAction } from "../../../../support/perform-action.js";
import { anEventRecord } from "../../../../support/records.js";

const PROMPT = [{ role: "system", content: "Be kind." }] as const;

function said(sequence: number, content: string): TranscriptItem {
  const message = { role: "user" as const, content };
  return { sequence, run_id: "run_0", event_id: null, message, partial: false, created_at: 1 };
}

describe("the actions about the conversation", () => {
  it("read the prompt and the history", async () => {
    const message = PROMPT[0];
    const item = { sequence: 1, run_id: "run_0", event_id: null, message, partial: false, created_at: 1 };
    const host = new FakeRunHost({ prompt: PROMPT, history: [item] });
    expect(await performAction(host, "get_prompt")).toEqual(PROMPT);
    const page = await performAction(host, "history_page", { limit: 5, content_chars: 100 });
    expect(page).toMatchObject({ items: [item], has_more: false });
  });

  it("search the history, and read events", async () => {
    const { tenant: _tenant, conversation: _conversation, ...event } = anEventRecord();
    const events = [{ ...event, sequence: 1 }];
    const host = new FakeRunHost({ history: [said(1, "hay"), said(2, "needle")], events });
    const found = await performAction(host, "history_search", { text: "needle", thread_id: null });
    expect(found).toMatchObject({ items: [{ sequence: 2 }] });
    expect(await performAction(host, "event_get", { event_id: "host:1" })).toEqual(events[0]);
    expect(await performAction(host, "event_page", { direction: "forward" })).toMatchObject({
      items: events,
    });
    expect(host.actions).toContain("events forward");
  });

  it("pull the messages that arrived, all or one at a time", async () => {
    const host = new FakeRunHost({ steering: () => ["And this."] });
    const pulled = [{ id: "run_s0", text: "And this.", created_at: 1_000 }];
    expect(await performAction(host, "steering_pull")).toEqual(pulled);
    const after = { role: "assistant", content: "So far." };
    expect(await performAction(host, "steering_pull", { mode: "one-at-a-time", after })).toEqual(pulled);
    expect(host.actions).toEqual(["steering all", "steering one-at-a-time after So far."]);
  });

  it("hand on the conversation that a call names", async () => {
    const asked: HistoryRequest[] = [];
    const host = new FakeRunHost();
    host.historyPage = async (request) => {
      asked.push(request);
      return { items: [], next_cursor: null, prev_cursor: null, has_more: false };
    };
    await performAction(host, "history_page", { conversation_id: "c2", thread_id: "t" });
    expect(asked).toMatchObject([{ direction: "backward", conversationId: "c2", threadId: "t" }]);
  });

  it("give an image of the message, or null", async () => {
    const image = { mimeType: "image/png", base64: "AA==", sizeBytes: 1 };
    const host = new FakeRunHost({ images: { "attachment-0": image } });
    const ask = { reference: "attachment-0", max_bytes: 10 };
    expect(await performAction(host, "read_image", ask)).toEqual({
      mime_type: "image/png",
      base64: "AA==",
      bytes: 1,
    });
    expect(await performAction(host, "read_image", { ...ask, reference: "other" })).toBeNull();
  });
});
