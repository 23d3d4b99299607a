import { describe, expect, it } from "vitest";
import { renderReuseKey } from "../../../src/box/reuse-key.js";
import { buildTemplateVariables, type TemplateFacts } from "../../../src/box/template-variables.js";

const facts = (change: Partial<TemplateFacts> = {}): TemplateFacts => ({
  chat: {
    launcher_type: "group",
    launcher_id: "7",
    sender_id: null,
    conversation_id: null,
    thread_id: "t",
    bot_id: null,
  },
  actorId: "ann",
  runId: "run_1",
  queryId: null,
  eventId: "evt_1",
  eventType: "message.received",
  params: {},
  ...change,
});

const identity = (template: string, change: Partial<TemplateFacts>) =>
  renderReuseKey(template, buildTemplateVariables(facts(change)), "main").identity;

describe("buildTemplateVariables", () => {
  it("takes the actor where the conversation names no sender, and the run where there is no query", () => {
    expect(buildTemplateVariables(facts())).toEqual({
      launcher_type: "group",
      launcher_id: "7",
      sender_id: "ann",
      conversation_id: null,
      thread_id: "t",
      bot_id: null,
      run_id: "run_1",
      query_id: "run_1",
      event_id: "evt_1",
      event_type: "message.received",
    });
    expect(buildTemplateVariables(facts({ queryId: "q" }))["query_id"]).toBe("q");
  });

  it("lets params add names, and never stand in for what the host knows or does not know", () => {
    const params = { lang: "en", launcher_id: "99", bot_id: "forged", run_id: "run_x" };
    expect(buildTemplateVariables(facts({ params }))).toMatchObject({
      lang: "en",
      launcher_id: "7",
      bot_id: null,
      run_id: "run_1",
    });
    expect(() => renderReuseKey("{bot_id}", buildTemplateVariables(facts({ params })), "main")).toThrow(
      /bot_id/,
    );
  });

  it("gives every run a key of its own under {run_id}", () => {
    expect(identity("{run_id}", { runId: "run_1" })).not.toBe(identity("{run_id}", { runId: "run_2" }));
  });

  it("shares a key between chats under {global} only", () => {
    const other = { chat: { ...facts().chat, launcher_id: "8" } };
    expect(identity("{global}", {})).toBe(identity("{global}", other));
    expect(identity("{launcher_id}", {})).not.toBe(identity("{launcher_id}", other));
  });
});
