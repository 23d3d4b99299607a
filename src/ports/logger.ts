/**
 * Structured log, injected. One line per unit of work, with outcome, code, `durationMs` and ids (style §6).
 * Never message text, file content, whole commands or keys.
 */

/** Every field a line may carry: what is not here is not logged (security §10). Ids, names we gave, figures; no free text. */
export const LOG_FIELDS = [
  "requestId",
  "runId",
  "sessionId",
  "fileId",
  "callId",
  "tenant",
  "role",
  "pipeline",
  "runner",
  "package",
  "model",
  "tool",
  "surface",
  "engine",
  "container",
  "volume",
  "image",
  "uid",
  "rung",
  "isolation",
  "quota",
  "route",
  "method",
  "status",
  "state",
  "outcome",
  "code",
  "reason",
  "durationMs",
  "timeoutMs",
  "sizeBytes",
  "sentBytes",
  "receivedBytes",
  "count",
  "attempt",
  "exitCode",
  "leftovers",
  "toolRounds",
  "modelCalls",
  "totalTokens",
  "files",
  "runs",
  "boxes",
  "host",
  "port",
  "version",
  "setting",
] as const;
export type LogField = (typeof LOG_FIELDS)[number];

export type LogFields = Readonly<Partial<Record<LogField, string | number | boolean | null | undefined>>>;

export interface Logger {
  /** Someone must look. `cause` is for the log only; adapters print it without request bodies. */
  error(fields: LogFields, message: string, cause?: unknown): void;
  /** Odd but handled. */
  warn(fields: LogFields, message: string, cause?: unknown): void;
  /** A unit of work is done. */
  info(fields: LogFields, message: string): void;
  /** Steps. */
  debug(fields: LogFields, message: string): void;
}
