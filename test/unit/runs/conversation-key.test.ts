import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Chat } from "../../../src/domain/event.js";
import {
  baseKey,
  conversationId,
  conversationKey,
  renewedKey,
  stretchOf,
} from "../../../src/runs/conversation-key.js";
import { aChat } from "../../support/builders.js";

const BASE = conversationKey(aChat(), "default", {});

function idOf(chat: Chat, params: Readonly<Record<string, unknown>>, conversation = BASE): string {
  return conversationId({ chat, params, conversation });
}

describe("conversationId", () => {
  it("is the chat's own id before the variable of that name", () => {
    const chat = aChat({ conversation_id: "c1" });
    expect(idOf(chat, { conversation_id: "c2" })).toBe("c1");
  });

  it("is the variable where the chat has none", () => {
    expect(idOf(aChat(), { conversation_id: "c2" })).toBe("c2");
  });

  it.each([undefined, null, "", 7, ["c"]])(
    "is made of the launcher for the variable %o",
    (conversation_id) => {
      expect(idOf(aChat(), { conversation_id })).toBe("person_42");
    },
  );

  it("is another one for a conversation that began after silence", () => {
    expect(idOf(aChat(), {}, renewedKey(BASE, "run_7"))).toBe("person_42_after_run_7");
    expect(conversationId({ chat: null, params: {}, conversation: BASE })).toBeNull();
  });
});

function keyOf({ pipeline, ...chat }: { pipeline: string } & Partial<Chat>): string {
  return conversationKey(aChat(chat), pipeline, {});
}

describe("conversationKey", () => {
  const base = conversationKey(aChat(), "default", {});

  it("is the same for the same chat, whoever speaks in it", () => {
    expect(conversationKey(aChat({ sender_id: "7", sender_name: "Bob" }), "default", {})).toBe(base);
  });

  it.each([
    ["another launcher", aChat({ launcher_id: "43" })],
    ["another kind of launcher", aChat({ launcher_type: "group" })],
    ["another bot", aChat({ bot_id: "b" })],
    ["another thread", aChat({ thread_id: "t" })],
    ["another conversation", aChat({ conversation_id: "c" })],
  ])("differs for %s", (_what, chat) => {
    expect(conversationKey(chat, "default", {})).not.toBe(base);
  });

  it("differs for another pipeline", () => {
    expect(conversationKey(aChat(), "other", {})).not.toBe(base);
  });

  it("does not merge two launchers whose parts join to one text", () => {
    const one = aChat({ launcher_type: "a_b", launcher_id: "c" });
    const other = aChat({ launcher_type: "a", launcher_id: "b_c" });
    expect(conversationKey(one, "default", {})).not.toBe(conversationKey(other, "default", {}));
  });

  it("is equal only where every part is", () => {
    const part = fc.constantFrom("", "a", "b", '","', "null", "a_b");
    const parts = fc.record({
      bot_id: fc.option(part),
      pipeline: part,
      conversation_id: fc.option(part),
      launcher_id: part,
      thread_id: fc.option(part),
    });
    fc.assert(
      fc.property(parts, parts, (one, other) => {
        const isLauncherSaid = one.conversation_id === null && other.conversation_id === null;
        const isSame =
          one.bot_id === other.bot_id &&
          one.pipeline === other.pipeline &&
          one.conversation_id === other.conversation_id &&
          one.thread_id === other.thread_id &&
          (!isLauncherSaid || one.launcher_id === other.launcher_id);
        expect(keyOf(one) === keyOf(other)).toBe(isSame);
      }),
    );
  });
});

describe("a later stretch of a conversation", () => {
  const base = conversationKey(aChat({ thread_id: "t" }), "default", {});
  const later = renewedKey(base, "run_1");

  it("has a key of its own, which leads back to the conversation", () => {
    expect(later).not.toBe(base);
    expect(baseKey(later)).toBe(base);
    expect(baseKey(base)).toBe(base);
    expect([stretchOf(base), stretchOf(later)]).toEqual([null, "run_1"]);
  });

  it.each(["no list", "{}", "null"])("is not read out of %s", (key) => {
    expect(stretchOf(key)).toBeNull();
    expect(baseKey(key)).not.toBe(base);
  });
});
