/** The run object that clients see, made from the ledger row and the run's files (api §2). */
import type { Delivery, FileRecord } from "../domain/delivery.js";
import { publicStatus, type Run } from "../domain/run.js";
import type { RunRecord } from "../ports/run-store.js";

export function fileContentPath(fileId: string): string {
  return `/v1/files/${fileId}/content`;
}

export function toDelivery(file: FileRecord): Delivery {
  return {
    id: file.id,
    name: file.name,
    kind: file.kind,
    mime_type: file.mimeType,
    bytes: file.sizeBytes,
    sha256: file.sha256,
    url: fileContentPath(file.id),
    state: file.state,
  };
}

/** A cancelled run lists no deliveries (box §9.4). */
export function toRunObject(record: RunRecord, files: readonly FileRecord[]): Run {
  return {
    id: record.id,
    object: "run",
    status: publicStatus(record.state),
    pipeline: record.pipeline,
    runner: record.runner,
    session: record.session,
    chat: record.chat,
    created_at: toTime(record.createdAt),
    started_at: record.startedAt === null ? null : toTime(record.startedAt),
    ended_at: record.endedAt === null ? null : toTime(record.endedAt),
    message: toMessage(record.message),
    deliveries: record.state === "cancelled" ? [] : files.map(toDelivery),
    attachments: [...record.attachments],
    outbox_left: [...record.outboxLeft],
    model: record.model,
    tool_rounds: record.toolRounds,
    usage: record.usage,
    finish_reason: record.finishReason,
    warnings: [...record.warnings],
    error: record.error,
  };
}

function toMessage(message: RunRecord["message"]): Run["message"] {
  if (message === null) return null;
  return {
    role: "assistant",
    content: message.content,
    ...(message.partial ? { partial: true as const } : {}),
  };
}

/** RFC 3339 UTC of Unix milliseconds. */
export function toTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
