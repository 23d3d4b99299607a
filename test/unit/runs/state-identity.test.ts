import { describe, expect, it } from "vitest";
import { conversationKey, renewedKey } from "../../../src/runs/conversation-key.js";
import { stateIdentity } from "../../../src/runs/state-identity.js";
import { aChat } from "../../support/builders.js";
import { aRun } from "../../support/records.js";

describe("stateIdentity", () => {
  it("takes every part from the record of the run", () => {
    const chat = aChat({ bot_id: "web", thread_id: "t1", sender_id: "7" });
    const run = aRun({ chat, tenant: "other", pipeline: "second", runner: "plugin:a/b/c" });
    expect(stateIdentity(run)).toEqual({
      tenant: "other",
      runner: "plugin:a/b/c",
      binding: "second",
      bot: "web",
      conversation: { id: ["person", "42"], thread: "t1" },
      actor: { type: "user", id: "7" },
      subject: { type: "message", id: "run_1" },
    });
  });

  it("takes the conversation id that was stated", () => {
    const byChat = stateIdentity(aRun({ chat: aChat({ conversation_id: "c1" }) }));
    const byParams = stateIdentity(aRun({ chat: aChat(), params: { conversation_id: "c1" } }));
    expect(byChat.conversation).toEqual({ id: "c1", thread: null });
    expect(byParams.conversation).toEqual(byChat.conversation);
  });

  it("tells a conversation that began after silence from the one before", () => {
    const [first, later] = ["[]", renewedKey(conversationKey(aChat(), "default", {}), "run_1")].map(
      (conversation) => stateIdentity(aRun({ chat: aChat(), conversation })).conversation,
    );
    expect(first).toEqual({ id: ["person", "42"], thread: null });
    expect(later).toEqual({ id: ["person", "42", "after", "run_1"], thread: null });
  });

  it("knows actor and subject of an event that came from no chat, and no conversation", () => {
    const trigger = {
      event_type: "friend.request_received" as const,
      event_time: 1,
      source_event_type: null,
      actor: { actor_type: "user", id: "9", name: null },
      subject: { type: "friend_request", id: "f1", data: {} },
      data: {},
    };
    expect(stateIdentity(aRun({ chat: null, trigger }))).toMatchObject({
      bot: null,
      conversation: null,
      actor: { type: "user", id: "9" },
      subject: { type: "friend_request", id: "f1" },
    });
  });

  it.each([null, ""])("knows no actor where the sender is %o", (sender_id) => {
    expect(stateIdentity(aRun({ chat: aChat({ sender_id }) })).actor).toBeNull();
  });
});
