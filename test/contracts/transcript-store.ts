/** What every store of message history promises (runs §17, ports/transcript-store.ts). */
import { describe, expect, it } from "vitest";
import type { Message } from "../../src/domain/message.js";
import type { TranscriptPlace, TranscriptStore } from "../../src/ports/transcript-store.js";
import { type Opened } from "../support/opened.js";
import { aTranscriptItem } from "../support/records.js";

function asking(...ids: readonly string[]): Message {
  return {
    role: "assistant",
    content: null,
    tool_calls: ids.map((id) => ({
      id,
      type: "function" as const,
      function: { name: `tool-${id}`, arguments: "{}" },
    })),
  };
}

function answering(id: string): Message {
  return { role: "tool", content: "ok", tool_call_id: id };
}

export function describeTranscriptStore(name: string, make: () => Promise<Opened<TranscriptStore>>): void {
  describe(`TranscriptStore of ${name}`, () => {
    describeItems(make);
    describePages(make);
    describeCalls(make);
    describeSilence(make);
  });
}

function describeItems(make: () => Promise<Opened<TranscriptStore>>): void {
  it("gives an item back as it was appended, fields of the provider included", async () => {
    await using store = await make();
    const message: Message = {
      role: "assistant",
      content: [{ type: "text", text: "Fünf 报告" }],
      tool_calls: [
        {
          id: "c1",
          type: "function",
          function: { name: "exec", arguments: '{"a":1}', strict: true },
          extra_content: { google: { thought_signature: "sig" } },
        },
      ],
      reasoning_content: "so",
    };
    const added = aTranscriptItem({ message, eventId: "evt_1", partial: true, createdAt: 1_700_000_000_001 });
    const item = await store.it.append(added);
    expect(item).toEqual({
      sequence: item.sequence,
      run_id: "run_1",
      event_id: "evt_1",
      message,
      partial: true,
      created_at: 1_700_000_000_001,
    });
    const request = { direction: "backward" as const, from: null, limit: 1 };
    expect(await store.it.page("main", "conversation-1", request)).toEqual([item]);
  });

  it("raises the sequence within a conversation, also for simultaneous items", async () => {
    await using store = await make();
    const items = await Promise.all(Array.from({ length: 10 }, () => store.it.append(aTranscriptItem())));
    const numbers = items.map(({ sequence }) => sequence).toSorted((a, b) => a - b);
    expect(new Set(numbers).size).toBe(10);
    const later = await store.it.append(aTranscriptItem());
    expect(later.sequence).toBeGreaterThan(Math.max(...numbers));
  });
}

function describePages(make: () => Promise<Opened<TranscriptStore>>): void {
  async function withFive() {
    const store = await make();
    const sequences: number[] = [];
    for (const text of ["a", "b", "c", "d", "e"]) {
      const item = await store.it.append(aTranscriptItem({ message: { role: "user", content: text } }));
      sequences.push(item.sequence);
    }
    const page = async (direction: "backward" | "forward", from: number | null, limit = 2) =>
      (await store.it.page("main", "conversation-1", { direction, from, limit })).map(
        ({ message }) => message.content,
      );
    return { sequences, page, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
  }

  it("pages backward with the newest first, strictly before a sequence", async () => {
    await using five = await withFive();
    expect(await five.page("backward", null)).toEqual(["e", "d"]);
    expect(await five.page("backward", five.sequences[3] ?? 0)).toEqual(["c", "b"]);
    expect(await five.page("backward", five.sequences[0] ?? 0)).toEqual([]);
  });

  it("pages forward with the oldest first, strictly after a sequence", async () => {
    await using five = await withFive();
    expect(await five.page("forward", null)).toEqual(["a", "b"]);
    expect(await five.page("forward", five.sequences[1] ?? 0, 9)).toEqual(["c", "d", "e"]);
    expect(await five.page("forward", five.sequences[4] ?? 0)).toEqual([]);
  });

  it("shows nothing of another conversation or tenant", async () => {
    await using store = await make();
    await store.it.append(aTranscriptItem());
    await store.it.append(aTranscriptItem({ conversation: "conversation-2" }));
    await store.it.append(aTranscriptItem({ tenant: "other" }));
    const request = { direction: "forward" as const, from: null, limit: 9 };
    expect(await store.it.page("main", "conversation-1", request)).toHaveLength(1);
    expect(await store.it.page("other", "conversation-2", request)).toEqual([]);
  });
}

function describeCalls(make: () => Promise<Opened<TranscriptStore>>): void {
  it("names the calls of a run that nothing answered, in order", async () => {
    await using store = await make();
    for (const message of [asking("c1", "c2"), answering("c1"), asking("c3")])
      await store.it.append(aTranscriptItem({ message }));
    await store.it.append(aTranscriptItem({ runId: "run_2", message: asking("c9") }));
    expect(await store.it.unansweredCalls("run_1")).toEqual([
      { id: "c2", name: "tool-c2" },
      { id: "c3", name: "tool-c3" },
    ]);
    await store.it.append(aTranscriptItem({ message: answering("c2") }));
    await store.it.append(aTranscriptItem({ message: answering("c3") }));
    expect(await store.it.unansweredCalls("run_1")).toEqual([]);
  });
}

function describeSilence(make: () => Promise<Opened<TranscriptStore>>): void {
  const whole = { direction: "forward" as const, from: null, limit: 5_000 };

  it("removes conversations in which nothing was said since, and keeps the others whole", async () => {
    await using store = await make();
    const said = (tenant: string, conversation: string, createdAt: number) =>
      store.it.append(aTranscriptItem({ tenant, conversation, createdAt }));
    for (const place of ["a", "b", "c", "d"]) await said("main", place, 1_000);
    await said("main", "b", 2_000);
    await said("other", "a", 1_000);
    let after: TranscriptPlace | null = null;
    do after = await store.it.removeSilent(2_000, { after, limit: 2 });
    while (after !== null);
    const left = async (tenant: string, conversation: string) =>
      (await store.it.page(tenant, conversation, whole)).length;
    expect(await Promise.all(["a", "b", "c", "d"].map((place) => left("main", place)))).toEqual([0, 2, 0, 0]);
    expect(await left("other", "a")).toBe(0);
  });

  it("comes to an end with a conversation of many items", async () => {
    await using store = await make();
    for (let i = 0; i < 1_050; i += 1) await store.it.append(aTranscriptItem());
    let after: TranscriptPlace | null = null;
    do after = await store.it.removeSilent(2_000, { after, limit: 10 });
    while (after !== null);
    expect(await store.it.page("main", "conversation-1", whole)).toEqual([]);
  }, 30_000);
}
