import { describe, expect, it } from "vitest";
import { AVAILABLE_APIS, deliveryHintsSchema, runContextSchema } from "../../../src/domain/run-context.js";
import { someResources } from "../../support/builders.js";

const context = {
  run_id: "run_1",
  trigger: { type: "message.received", source: "rest", timestamp: 1_700_000_000 },
  conversation: null,
  event: {
    event_id: "host:1",
    event_type: "message.received",
    event_time: 1_700_000_000,
    source: "rest",
    source_event_type: null,
    data: {},
  },
  actor: { actor_type: "user", id: "42", name: null },
  subject: { type: "message", id: null, data: {} },
  input: { text: "Hello", contents: [], attachments: [] },
  prompt: [],
  messages: [],
  params: {},
  delivery: {
    surface: "rest",
    reply_target: null,
    supports_streaming: true,
    supports_edit: false,
    supports_reaction: false,
    max_message_size: null,
    max_file_size: null,
    interactions: [],
    platform_capabilities: [],
  },
  resources: someResources({ storage: { plugin: true, workspace: false } }),
  context: {
    conversation_id: null,
    thread_id: null,
    latest_cursor: null,
    event_seq: null,
    transcript_seq: null,
    has_history_before: false,
    inline_policy: {
      mode: "current_event",
      delivered_count: 0,
      messages_complete: false,
      reason: "The runner pulls what it needs.",
    },
    available_apis: Object.fromEntries(AVAILABLE_APIS.map((name) => [name, false])),
  },
  state: {},
  runtime: {
    host_version: "0.1.0",
    trace_id: "run_1",
    deadline_at: 1_700_000_300,
    metadata: {
      bot_id: null,
      workspace_id: "main",
      streaming_supported: true,
      model_context_window_tokens: null,
      model_max_output_tokens: null,
    },
  },
  config: {},
  adapter: { extra: { params: {}, metadata: {} } },
};

describe("runContextSchema", () => {
  it("takes a context of the protocol as it is", () => {
    expect(runContextSchema.parse(context)).toEqual(context);
  });

  it.each(Object.keys(context))("wants %s", (field) => {
    expect(runContextSchema.safeParse({ ...context, [field]: undefined }).success).toBe(false);
  });

  it("has no other top-level field", () => {
    expect(runContextSchema.safeParse({ ...context, skills: [] }).success).toBe(false);
  });

  it("says yes or no to each call of the host, and to no other", () => {
    const { state: _state, ...incomplete } = context.context.available_apis;
    for (const available_apis of [incomplete, { ...context.context.available_apis, shutdown: true }])
      expect(
        runContextSchema.safeParse({ ...context, context: { ...context.context, available_apis } }).success,
      ).toBe(false);
  });
});

describe("deliveryHintsSchema", () => {
  it.each([{ max_message_size: 0 }, { max_file_size: -1 }, { max_file_size: 1.5 }])(
    "refuses %j: no limit is null, never zero",
    (fault) => {
      expect(deliveryHintsSchema.safeParse({ ...context.delivery, ...fault }).success).toBe(false);
    },
  );
});
