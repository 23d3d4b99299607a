/** Records with sensible defaults, for tests that care about one or two of their fields. */
import type { Attachment, AttachmentOutcome } from "../../src/domain/attachment.js";
import type { FileRecord } from "../../src/domain/delivery.js";
import { messageTrigger } from "../../src/domain/event.js";
import type { SessionRecord } from "../../src/domain/session.js";
import { NO_USAGE } from "../../src/domain/usage.js";
import type { NewEventRecord } from "../../src/ports/event-store.js";
import type { IdempotencyRecord } from "../../src/ports/idempotency-store.js";
import type { RunOutcome, RunRecord } from "../../src/ports/run-store.js";
import type { NewTranscriptItem } from "../../src/ports/transcript-store.js";
import { untouched } from "../../src/runs/admit-message.js";

const RUN: Omit<RunRecord, "trigger"> = {
  id: "run_1",
  tenant: "main",
  pipeline: "default",
  runner: "plugin:berth/local-agent/default",
  chat: {
    launcher_type: "person",
    launcher_id: "42",
    sender_id: null,
    sender_name: null,
    bot_id: null,
    conversation_id: null,
    thread_id: null,
  },
  conversation: "conversation-1",
  eventId: "host:1",
  surface: "rest",
  state: "queued",
  session: null,
  input: { text: "Plot the table.", contents: [], attachments: [] },
  params: {},
  attachments: [],
  attachmentSources: [],
  onDisconnect: "continue",
  retryOf: null,
  ...untouched(1_000),
};

export function aRun(fields: Partial<RunRecord> = {}): RunRecord {
  const run = {
    ...RUN,
    ...fields,
  };
  return { ...run, trigger: fields.trigger ?? messageTrigger(run) };
}

/** Of an attachment that nobody has looked at yet. */
export function anOutcomeOf({ name, size, mime_type }: Attachment, index: number): AttachmentOutcome {
  return {
    index,
    name: name ?? `file-${index}`,
    path: null,
    bytes: size,
    mime_type,
    state: "pending",
    reason: null,
  };
}

export function anOutcome(fields: Partial<RunOutcome> = {}): RunOutcome {
  return {
    state: "completed",
    endedAt: 9_000,
    message: { content: "Done.", partial: false },
    outboxLeft: [],
    attachments: [],
    model: "main",
    toolRounds: 1,
    usage: NO_USAGE,
    finishReason: "stop",
    warnings: [],
    error: null,
    ...fields,
  };
}

export function aSession(fields: Partial<SessionRecord> = {}): SessionRecord {
  return {
    id: "ses_1",
    tenant: "main",
    identity: "identity-1",
    key: "person_42",
    engine: "local",
    uid: 30_001,
    volume: "berth-volume-1",
    container: null,
    prepared: false,
    settings: null,
    untold: null,
    createdAt: 1_000,
    lastUsedAt: 1_000,
    ...fields,
  };
}

export function aFile(fields: Partial<FileRecord> = {}): FileRecord {
  return {
    id: "file_1",
    tenant: "main",
    runId: "run_1",
    purpose: "delivery",
    name: "chart.png",
    kind: "image",
    mimeType: "image/png",
    sizeBytes: 1_234,
    sha256: "a".repeat(64),
    sourcePath: "/workspace/outbox/run_1/chart.png",
    state: "pending",
    createdAt: 1_000,
    ...fields,
  };
}

export function aTranscriptItem(fields: Partial<NewTranscriptItem> = {}): NewTranscriptItem {
  return {
    tenant: "main",
    conversation: "conversation-1",
    runId: "run_1",
    eventId: null,
    message: { role: "user", content: "Hello" },
    partial: false,
    createdAt: 1_000,
    ...fields,
  };
}

export function anIdempotencyRecord(fields: Partial<IdempotencyRecord> = {}): IdempotencyRecord {
  return {
    tenant: "main",
    key: "key-1",
    bodyHash: "b".repeat(64),
    runId: "run_1",
    createdAt: 10_000,
    ...fields,
  };
}

export function anEventRecord(fields: Partial<NewEventRecord> = {}): NewEventRecord {
  return {
    tenant: "main",
    conversation: "conversation-1",
    run_id: "run_1",
    event_id: "host:1",
    event_type: "message.received",
    event_time: 1.5,
    source: "rest",
    source_event_type: null,
    actor: { actor_type: "user", id: "42", name: "Ann" },
    subject: { type: "message", id: "run_1", data: {} },
    data: {},
    summary: "Plot the table.",
    bot_id: null,
    conversation_id: "person_42",
    thread_id: null,
    created_at: 1_000,
    ...fields,
  };
}
