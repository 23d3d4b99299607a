/** A run as rows of its tables, and back. */
import type { Insertable, Selectable } from "kysely";
import { z } from "zod";
import {
  type AttachmentOutcome,
  type AttachmentSource,
  attachmentOutcomeSchema,
  attachmentSourceSchema,
} from "../../domain/attachment.js";
import { ServiceError } from "../../domain/errors.js";
import { chatSchema, messageTrigger, runInputSchema, triggerSchema } from "../../domain/event.js";
import { finishReasonSchema, warningSchema } from "../../domain/result.js";
import {
  outboxEntrySchema,
  RUN_EVENT_TYPES,
  type RunEvent,
  runErrorSchema,
  runStateSchema,
  toOpenState,
} from "../../domain/run.js";
import { usageSchema } from "../../domain/usage.js";
import type { RunChange, RunOutcome, RunRecord } from "../../ports/run-store.js";
import type { PackedEvent } from "./delta-trail.js";
import { readJson, readNullableJson, writeJson, writeNullableJson } from "./json-column.js";
import type { AttachmentTable, RunEventTable, RunInputTable, RunTable } from "./schema.js";

const nullableChatSchema = chatSchema.nullable();
const plainObjectSchema = z.record(z.string(), z.unknown());
const messageSchema = z.object({ content: z.string(), partial: z.boolean() });
const outboxSchema = z.array(outboxEntrySchema);
const warningsSchema = z.array(warningSchema);
const eventTypeSchema = z.enum(RUN_EVENT_TYPES);

export type StoredRun = Selectable<RunTable> & Omit<Selectable<RunInputTable>, "run_id">;

export function toRunRow(run: RunRecord, position: number): Insertable<RunTable> {
  return {
    id: run.id,
    position,
    tenant: run.tenant,
    pipeline: run.pipeline,
    runner: run.runner,
    chat_key: run.chat === null ? "" : `${run.chat.launcher_type}:${run.chat.launcher_id}`,
    conversation: run.conversation,
    event_id: run.eventId,
    surface: run.surface,
    on_disconnect: run.onDisconnect,
    retry_of: run.retryOf,
    created_at: run.createdAt,
    started_at: run.startedAt,
    last_sequence: 0,
    metadata_json: writeJson(run.metadata),
    epoch: run.epoch,
    worker: run.claim?.worker ?? null,
    claim_expires_at: run.claim?.expiresAt ?? null,
    ...toSessionColumns(run.session),
    ...toOutcomeColumns(run),
  };
}

export function toRunInputRow(run: RunRecord): Insertable<RunInputTable> {
  return {
    run_id: run.id,
    chat_json: writeJson(run.chat),
    input_json: writeJson(run.input),
    params_json: writeJson(run.params),
    trigger_json: writeJson(run.trigger),
  };
}

export function toAttachmentRows(run: RunRecord): Insertable<AttachmentTable>[] {
  const count = Math.max(run.attachments.length, run.attachmentSources.length);
  return Array.from({ length: count }, (_, idx) => ({
    run_id: run.id,
    idx,
    outcome_json: writeNullableJson(run.attachments[idx] ?? null),
    ...toSourceColumns(run.attachmentSources[idx] ?? null),
  }));
}

/** The outcomes alone, for rows that are there already. */
export function toOutcomeRows(
  runId: RunRecord["id"],
  outcomes: readonly AttachmentOutcome[],
): Insertable<AttachmentTable>[] {
  return outcomes.map((outcome, idx) => ({
    run_id: runId,
    idx,
    outcome_json: writeJson(outcome),
    ...toSourceColumns(null),
  }));
}

/** The sources alone, for rows that are there already. */
export function toSourceRows(
  runId: RunRecord["id"],
  sources: readonly AttachmentSource[],
): Insertable<AttachmentTable>[] {
  return sources.map((source, idx) => ({
    run_id: runId,
    idx,
    outcome_json: null,
    ...toSourceColumns(source),
  }));
}

function toSourceColumns(
  source: AttachmentSource | null,
): Pick<Insertable<AttachmentTable>, "source_json" | "sha256"> {
  return {
    source_json: writeNullableJson(source),
    sha256: source?.kind === "blob" ? source.sha256 : null,
  };
}

/** The columns that an outcome sets; attachments have rows of their own. */
export function toOutcomeColumns(
  outcome: Omit<RunOutcome, "state" | "endedAt" | "attachments"> & Pick<RunRecord, "state" | "endedAt">,
): Pick<
  Insertable<RunTable>,
  | "state"
  | "ended_at"
  | "message_json"
  | "outbox_left_json"
  | "model"
  | "tool_rounds"
  | "usage_json"
  | "finish_reason"
  | "warnings_json"
  | "error_json"
> {
  return {
    state: outcome.state,
    ended_at: outcome.endedAt,
    message_json: writeNullableJson(outcome.message),
    outbox_left_json: writeJson(outcome.outboxLeft),
    model: outcome.model,
    tool_rounds: outcome.toolRounds,
    usage_json: writeJson(outcome.usage),
    finish_reason: outcome.finishReason,
    warnings_json: writeJson(outcome.warnings),
    error_json: writeNullableJson(outcome.error),
  };
}

/** The columns of the fields that a change names; attachments have rows of their own. */
export function toChangedColumns(change: RunChange): Partial<Insertable<RunTable>> {
  return {
    ...(change.state === undefined ? {} : { state: toOpenState(change.state) }),
    ...(change.session === undefined ? {} : toSessionColumns(change.session)),
    ...(change.startedAt === undefined ? {} : { started_at: change.startedAt }),
    ...(change.model === undefined ? {} : { model: change.model }),
    ...(change.toolRounds === undefined ? {} : { tool_rounds: change.toolRounds }),
    ...(change.warnings === undefined ? {} : { warnings_json: writeJson(change.warnings) }),
  };
}

function toSessionColumns(
  session: RunRecord["session"],
): Pick<Insertable<RunTable>, "session_id" | "session_key"> {
  return { session_id: session?.id ?? null, session_key: session?.key ?? null };
}

/** @param attachments rows of this run in order of their index */
export function toRunRecord(row: StoredRun, attachments: readonly Selectable<AttachmentTable>[]): RunRecord {
  const chat = readJson(nullableChatSchema, row.chat_json);
  return {
    id: row.id,
    tenant: row.tenant,
    pipeline: row.pipeline,
    runner: row.runner,
    chat,
    conversation: row.conversation,
    eventId: row.event_id,
    trigger:
      readNullableJson(triggerSchema, row.trigger_json) ??
      messageTrigger({ id: row.id, chat, createdAt: row.created_at }),
    surface: row.surface,
    state: readState(row.state),
    session:
      row.session_id === null || row.session_key === null
        ? null
        : { id: row.session_id, key: row.session_key },
    input: readJson(runInputSchema, row.input_json),
    params: readJson(plainObjectSchema, row.params_json),
    attachments: attachments.flatMap(({ outcome_json }) =>
      outcome_json === null ? [] : [readJson(attachmentOutcomeSchema, outcome_json)],
    ),
    attachmentSources: attachments.flatMap(({ source_json }) =>
      source_json === null ? [] : [readJson(attachmentSourceSchema, source_json)],
    ),
    onDisconnect: row.on_disconnect,
    retryOf: row.retry_of,
    createdAt: row.created_at,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    message: readNullableJson(messageSchema, row.message_json),
    outboxLeft: readJson(outboxSchema, row.outbox_left_json),
    model: row.model,
    toolRounds: row.tool_rounds,
    usage: readJson(usageSchema, row.usage_json),
    finishReason: row.finish_reason === null ? null : finishReasonSchema.parse(row.finish_reason),
    warnings: readJson(warningsSchema, row.warnings_json),
    error: readNullableJson(runErrorSchema, row.error_json),
    metadata: readJson(plainObjectSchema, row.metadata_json),
    epoch: row.epoch,
    claim:
      row.worker === null || row.claim_expires_at === null
        ? null
        : { worker: row.worker, expiresAt: row.claim_expires_at },
  };
}

/** @throws ServiceError `internal` for a text that is no state */
function readState(text: string): RunRecord["state"] {
  const state = runStateSchema.safeParse(text);
  if (state.success) return state.data;
  throw new ServiceError("internal", `A stored run has the unknown state "${text.slice(0, 100)}".`);
}

export function toRunEventRow(
  id: RunRecord["id"],
  { event, keyframe }: PackedEvent<Omit<RunEvent, "run_id">>,
): Insertable<RunEventTable> {
  const { type, data, sequence, timestamp } = event;
  return { run_id: id, sequence, type, data_json: writeJson(data), timestamp, keyframe };
}

export function toPackedEvent(row: Selectable<RunEventTable>): PackedEvent {
  const event = {
    type: eventTypeSchema.parse(row.type),
    data: readJson(plainObjectSchema, row.data_json),
    run_id: row.run_id,
    sequence: row.sequence,
    timestamp: row.timestamp,
  };
  return { event, keyframe: row.keyframe };
}
