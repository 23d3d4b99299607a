import { describe, expect, it } from "vitest";
import { runContextSchema } from "../../../src/domain/run-context.js";
import { buildContext, type ContextInputs } from "../../../src/runs/build-context.js";
import { buildTrigger } from "../../../src/runs/build-trigger.js";
import { aBinding, aChat, aDescriptor, anEvent, aTool, someResources } from "../../support/builders.js";
import { proves } from "../../support/proves.js";
import { aRun } from "../../support/records.js";

const WINDOWED = {
  model_id: "main",
  type: "llm",
  provider: "models.example",
  operations: ["invoke"],
  abilities: [],
  context_window: 32_000,
  max_output_tokens: 4096,
} as const;

function inputs(fields: Partial<ContextInputs> = {}): ContextInputs {
  return {
    run: aRun({ chat: aChat({ bot_id: "web", thread_id: "t1" }), createdAt: 1_700_000_000_500 }),
    binding: aBinding(),
    descriptor: aDescriptor(),
    resources: someResources({ models: [WINDOWED], tools: [aTool()] }),
    state: {},
    hasPrompt: false,
    deadlineAt: 1_700_000_300_000,
    hostVersion: "1.2.3",
    place: { eventSeq: 7, transcriptSeq: 12, latestSeq: 12, hasHistory: true },
    maxFileBytes: 1000,
    canExport: true,
    ...fields,
  };
}

const anAttachment = {
  reference: "attachment-0",
  type: "image" as const,
  source: "base64" as const,
  url: null,
  id: null,
  name: "a.png",
  size: 9,
  path: null,
};

function windowOf(models: ContextInputs["resources"]["models"]): number | null {
  const { runtime } = buildContext(inputs({ resources: someResources({ models }) }));
  return runtime.metadata.model_context_window_tokens;
}

function offered(fields: Partial<ContextInputs>): string[] {
  const apis = buildContext(inputs(fields)).context.available_apis;
  return Object.entries(apis).flatMap(([name, isOffered]) =>
    isOffered && !name.startsWith("run_") ? [name] : [],
  );
}

describe("buildContext", () => {
  it("is valid by the schema, with event and delivery and no other top-level fields", () => {
    proves("CTX-01");
    const context = buildContext(inputs());
    expect(runContextSchema.safeParse(context).error).toBeUndefined();
    expect(Object.keys(context).toSorted()).toEqual(Object.keys(runContextSchema.shape).toSorted());
    expect(context.event).toEqual({
      event_id: "host:1",
      event_type: "message.received",
      event_time: 1_700_000_000.5,
      source: "rest",
      source_event_type: null,
      data: {},
    });
    expect(context.delivery).toMatchObject({
      surface: "rest",
      reply_target: "person:42",
      max_file_size: 1000,
    });
  });

  it("tells who wrote where", () => {
    const context = buildContext(inputs());
    expect(context.actor).toEqual({ actor_type: "user", id: "42", name: "Ann" });
    expect(context.conversation).toEqual({
      session_id: "person_42",
      conversation_id: "person_42",
      thread_id: "t1",
      launcher_type: "person",
      launcher_id: "42",
      sender_id: "42",
      bot_id: "web",
      workspace_id: "main",
    });
    expect(context.context).toMatchObject({
      conversation_id: "person_42",
      thread_id: "t1",
      has_history_before: true,
    });
  });

  it("pushes no history and no prompt to a runner that pulls them", () => {
    const context = buildContext(inputs());
    expect(context).toMatchObject({ prompt: [], messages: [], state: {} });
    expect(context.context.inline_policy).toEqual({
      mode: "current_event",
      delivered_count: 0,
      messages_complete: false,
      reason: "The runner pulls its history.",
    });
  });

  it("carries the binding's config and the filtered params", () => {
    const context = buildContext(
      inputs({ binding: aBinding({ config: { a: { b: 1 } } }), run: aRun({ params: { lang: "en" } }) }),
    );
    expect(context.config).toEqual({ a: { b: 1 } });
    expect(context.params).toEqual({ lang: "en" });
    expect(context.adapter).toEqual({ extra: { params: { lang: "en" }, metadata: {} } });
  });

  it("tells host, deadline in seconds and trace", () => {
    expect(buildContext(inputs()).runtime).toEqual({
      host_version: "1.2.3",
      trace_id: "run_1",
      deadline_at: 1_700_000_300,
      metadata: {
        bot_id: "web",
        workspace_id: "main",
        streaming_supported: false,
        model_context_window_tokens: 32_000,
        model_max_output_tokens: 4096,
      },
    });
  });

  it("takes the window of the first language model only, whatever the others declare", () => {
    const rerank = { ...WINDOWED, model_id: "order", type: "rerank", context_window: 512 } as const;
    const open = { ...WINDOWED, context_window: null, max_output_tokens: null };
    expect(windowOf([rerank, WINDOWED])).toBe(32_000);
    expect(windowOf([open, WINDOWED])).toBeNull();
    expect(windowOf([])).toBeNull();
  });

  it.each([
    ["sse", true],
    ["rest", false],
  ])("lets a runner stream to the surface %s: %s", (surface, isStreaming) => {
    const context = buildContext(inputs({ run: aRun({ surface }) }));
    expect(context.delivery.supports_streaming).toBe(isStreaming);
    expect(context.runtime.metadata.streaming_supported).toBe(isStreaming);
  });

  it("keeps what an event is about, also where it says nothing and belongs to no conversation", () => {
    proves("CTX-02");
    const data = { role: "guest", tags: ["a", { deep: null }] };
    const event = anEvent({ actor: null, subject: { type: null, id: "g1", data }, data: { count: 1 } });
    const trigger = buildTrigger(event, { id: "run_1", chat: null, createdAt: 1_000 });
    for (const text of ["", null]) {
      const input = { text, contents: [], attachments: [] };
      const context = buildContext(inputs({ run: aRun({ chat: null, trigger, input }) }));
      expect(runContextSchema.safeParse(context).error).toBeUndefined();
      expect(context).toMatchObject({
        trigger: { type: "group.member_joined", source: "rest", timestamp: 1 },
        conversation: null,
        actor: { actor_type: "system", id: null },
        subject: { type: "group", id: "g1", data },
        event: { event_type: "group.member_joined", data: { count: 1 } },
        input,
        delivery: { reply_target: null },
        runtime: { metadata: { bot_id: null } },
      });
    }
  });

  it("hands structured items to a runner that declares them, and notes in words to another", () => {
    const outcome = { index: 0, name: "a.png", path: null, bytes: 9, mime_type: "image/png" };
    const run = aRun({
      input: {
        text: null,
        contents: [
          { type: "text", text: "See" },
          { type: "attachment", reference: "attachment-0" },
        ],
        attachments: [{ ...anAttachment, mime_type: "image/png" }],
      },
      attachments: [{ ...outcome, state: "pending", reason: null }],
    });
    const inputFor = (multimodal_input: boolean) =>
      buildContext(inputs({ run, descriptor: aDescriptor({ capabilities: { multimodal_input } }) })).input;
    expect(inputFor(true)).toEqual(run.input);
    expect(inputFor(false)).toEqual({
      ...run.input,
      contents: [
        { type: "text", text: "See" },
        { type: "text", text: "[attachment 0: a.png, image/png, 9 bytes]" },
      ],
    });
  });

  it("tells where the run stands in what is kept", () => {
    expect(buildContext(inputs()).context).toMatchObject({
      latest_cursor: "12",
      event_seq: 7,
      transcript_seq: 12,
      has_history_before: true,
    });
    const place = { eventSeq: 8, transcriptSeq: null, latestSeq: null, hasHistory: false };
    expect(buildContext(inputs({ place })).context).toMatchObject({
      latest_cursor: null,
      event_seq: 8,
      transcript_seq: null,
      has_history_before: false,
    });
    expect(buildContext(inputs({ run: aRun({ chat: null }) })).context).toMatchObject({
      conversation_id: null,
      thread_id: null,
      latest_cursor: null,
      has_history_before: false,
    });
  });

  it("offers what there is, and says false of all the rest", () => {
    const boxed = aRun({ session: { id: "ses_1", key: "person_42" } });
    expect(offered({})).toEqual(["history_page", "state"]);
    expect(offered({ run: boxed })).toEqual(["history_page", "state", "box", "box_export_paths"]);
    expect(offered({ run: boxed, canExport: false })).toEqual(["history_page", "state", "box"]);
    expect(offered({ descriptor: aDescriptor({ permissions: {} }) })).toEqual(["state"]);
  });

  it("shows the state as it was read, and offers none where the binding enables none", () => {
    const state = { conversation: { mood: "good" }, actor: {} };
    expect(buildContext(inputs({ state })).state).toEqual(state);
    const binding = aBinding({ state: { enable_state: false, scopes: null } });
    expect(offered({ binding })).toEqual(["history_page"]);
  });

  it("is a frozen copy: neither side can change the other", () => {
    const config = { list: ["a"] };
    const context = buildContext(inputs({ binding: aBinding({ config }) }));
    config.list.push("b");
    expect(context.config).toEqual({ list: ["a"] });
    expect(() => Object.assign(context.input, { text: "other" })).toThrow(TypeError);
    expect(() => Object.assign(context.resources.tools, [])).not.toThrow();
    expect(() => Object.assign(context.resources.tools[0] ?? {}, { tool_name: "x" })).toThrow(TypeError);
  });
});
