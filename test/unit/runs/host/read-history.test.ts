import { beforeEach, describe, expect, it } from "vitest";
import { MemoryTranscriptStore } from "../../../../src/adapters/memory/memory-transcript-store.js";
import type { Message } from "../../../../src/domain/message.js";
import type { HistoryRequest, HistorySearch } from "../../../../src/ports/run-host.js";
import { conversationKey } from "../../../../src/runs/conversation-key.js";
import { readHistory, searchHistory } from "../../../../src/runs/host/read-history.js";
import { aChat } from "../../../support/builders.js";
import { proves } from "../../../support/proves.js";
import { aTranscriptItem } from "../../../support/records.js";

const SCOPE = { tenant: "main", conversation: "conversation-1" };

describe("readHistory", () => {
  let transcripts = new MemoryTranscriptStore();

  beforeEach(() => {
    transcripts = new MemoryTranscriptStore();
  });

  const fill = async (count: number): Promise<void> => {
    for (let i = 1; i <= count; i += 1)
      await transcripts.append(aTranscriptItem({ message: { role: "user", content: `${i}` } }));
  };
  const read = (request: Partial<HistoryRequest> = {}) =>
    readHistory(transcripts, SCOPE, { direction: "backward", ...request });
  const texts = async (request: Partial<HistoryRequest> = {}): Promise<unknown[]> =>
    (await read(request)).items.map(({ message }) => message.content);
  const readOne = async (message: Message, contentChars?: number): Promise<unknown> => {
    await transcripts.append(aTranscriptItem({ message }));
    return (await texts({ limit: 1, contentChars }))[0];
  };

  it("gives the newest 50 first where no limit is named, and says that there are more", async () => {
    await fill(60);
    const page = await read();
    expect(page.items).toHaveLength(50);
    expect(page.items[0]?.message.content).toBe("60");
    expect(page.has_more).toBe(true);
  });

  it.each([101, 1000, Infinity])("gives at most 100 rows for a limit of %d", async (limit) => {
    proves("AUTH-17");
    await fill(120);
    expect((await read({ limit })).items).toHaveLength(100);
  });

  it.each([
    [0, 1],
    [-5, 1],
    [2.9, 2],
  ])("reads a limit of %d as %d", async (limit, rows) => {
    await fill(5);
    expect((await read({ limit })).items).toHaveLength(rows);
  });

  it("goes backward page by page with the cursor, without gap or repeat, to the beginning", async () => {
    await fill(5);
    const first = await read({ limit: 2 });
    const second = await read({ limit: 2, cursor: first.next_cursor ?? "" });
    const third = await read({ limit: 2, cursor: second.next_cursor ?? "" });
    const pages = [first, second, third].map(({ items }) => items.map(({ message }) => message.content));
    expect(pages).toEqual([["5", "4"], ["3", "2"], ["1"]]);
    expect([first.has_more, second.has_more, third.has_more]).toEqual([true, true, false]);
  });

  it("goes forward from the oldest, or after a cursor", async () => {
    await fill(4);
    const first = await read({ direction: "forward", limit: 3 });
    expect(first.items.map(({ message }) => message.content)).toEqual(["1", "2", "3"]);
    expect(await texts({ direction: "forward", cursor: first.next_cursor ?? "" })).toEqual(["4"]);
    expect(await texts({ cursor: first.prev_cursor ?? "" })).toEqual([]);
  });

  it("gives an empty page without cursors where there is nothing", async () => {
    expect(await read()).toEqual({ items: [], next_cursor: null, prev_cursor: null, has_more: false });
  });

  it.each(["", "-1", "1.5", "abc", "1234567890123456"])(
    "refuses the cursor %o, which is not its own",
    async (cursor) => {
      await expect(read({ cursor })).rejects.toMatchObject({ code: "host.invalid_argument" });
    },
  );

  it("ends a long text after 4000 characters with three dots", async () => {
    expect(await readOne({ role: "user", content: "x".repeat(4000) })).toBe("x".repeat(4000));
    expect(await readOne({ role: "user", content: "x".repeat(4001) })).toBe(`${"x".repeat(4000)}...`);
  });

  it("gives more where more is asked for, but never above 65,536 characters", async () => {
    const content = "x".repeat(70_000);
    expect(await readOne({ role: "user", content }, 5000)).toBe(`${"x".repeat(5000)}...`);
    expect(await readOne({ role: "user", content }, 1_000_000)).toBe(`${"x".repeat(65_536)}...`);
  });

  it("cuts between characters, and each part of a text by itself", async () => {
    expect(await readOne({ role: "user", content: "🎉🎉🎉" }, 2)).toBe("🎉🎉...");
    const image = { type: "image_url" as const, image_url: { url: "https://example.com/a.png" } };
    const content = [{ type: "text" as const, text: "abcdef" }, image];
    expect(await readOne({ role: "user", content }, 3)).toEqual([{ type: "text", text: "abc..." }, image]);
  });

  it("leaves messages without text, and all other fields, as they are stored", async () => {
    const message: Message = { role: "assistant", content: null, extra_content: { signature: "s" } };
    expect(await readOne(message)).toBeNull();
    expect((await read({ limit: 1 })).items[0]?.message).toEqual(message);
  });

  it("reads its own conversation only: another thread, bot or tenant is another one, null matches only null", async () => {
    const keys = [
      conversationKey(aChat(), "default", {}),
      conversationKey(aChat({ thread_id: "t" }), "default", {}),
      conversationKey(aChat({ bot_id: "b" }), "default", {}),
    ];
    for (const conversation of keys) {
      const message = { role: "user" as const, content: conversation };
      await transcripts.append(aTranscriptItem({ conversation, message }));
      await transcripts.append(aTranscriptItem({ conversation, message, tenant: "other" }));
    }
    for (const conversation of keys) {
      const scope = { tenant: "main", conversation };
      const { items } = await readHistory(transcripts, scope, { direction: "backward" });
      expect(items.map(({ message }) => message.content)).toEqual([conversation]);
    }
  });
});

describe("searchHistory", () => {
  let transcripts = new MemoryTranscriptStore();

  beforeEach(() => {
    transcripts = new MemoryTranscriptStore();
  });

  const say = async (content: Message["content"], role: Message["role"] = "user"): Promise<void> => {
    await transcripts.append(aTranscriptItem({ message: { role, content } }));
  };
  const search = (request: Partial<HistorySearch>) =>
    searchHistory(transcripts, SCOPE, { text: "needle", ...request });

  it("finds texts in messages of every role and form, newest first, and cuts them as a page does", async () => {
    await say([{ type: "text", text: "a NEEDLE in parts" }], "assistant");
    await say("hay");
    await say("needle in much hay", "tool");
    await say(null, "assistant");
    const page = await search({ contentChars: 10 });
    expect(page.items.map(({ message }) => message.content)).toEqual([
      "needle in ...",
      [{ type: "text", text: "a NEEDLE i..." }],
    ]);
    expect(page).toMatchObject({ has_more: false, next_cursor: "1", prev_cursor: "3" });
  });

  it.each(["100%", "a_b", "c:\\d", "[x]*", '"q"'])("takes %s literally", async (text) => {
    await say(`so ${text} it is`);
    await say("100 percent, aXb, c:/d, x, q");
    const page = await search({ text });
    expect(page.items.map(({ message }) => message.content)).toEqual([`so ${text} it is`]);
  });

  it("goes on behind the page before, also where the next match is far away", async () => {
    await say("needle 1");
    for (let i = 0; i < 450; i += 1) await say("hay");
    await say("needle 2");
    await say("needle 3");
    const first = await search({ limit: 2 });
    expect(first.items.map(({ message }) => message.content)).toEqual(["needle 3", "needle 2"]);
    expect(first.has_more).toBe(true);
    const second = await search({ limit: 2, cursor: first.next_cursor ?? "" });
    expect(second.items.map(({ message }) => message.content)).toEqual(["needle 1"]);
    expect(second.has_more).toBe(false);
  });

  it("looks through at most 2000 messages in one call, and says where to go on", async () => {
    await say("needle");
    for (let i = 0; i < 2000; i += 1) await say("hay");
    const first = await search({});
    expect(first).toEqual({ items: [], next_cursor: "2", prev_cursor: null, has_more: true });
    expect((await search({ cursor: "2" })).items).toHaveLength(1);
  });

  it.each(["", "x".repeat(1001)])("refuses an empty text and one that is too long", async (text) => {
    await expect(search({ text })).rejects.toMatchObject({ code: "host.invalid_argument" });
  });
});
