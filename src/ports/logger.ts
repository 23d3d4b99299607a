/**
 * Structured log, injected. One line per unit of work, with outcome, code, `durationMs` and ids (style §6).
 * Never message text, file content, whole commands or keys.
 */
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

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
