/** A logger that keeps its lines. */
import type { LogFields, Logger } from "../../src/ports/logger.js";

export interface KeptLine {
  readonly level: "error" | "warn" | "info" | "debug";
  readonly fields: LogFields;
  readonly message: string;
  readonly cause: unknown;
}

export class KeptLogger implements Logger {
  readonly lines: KeptLine[] = [];

  error(fields: LogFields, message: string, cause?: unknown): void {
    this.lines.push({ level: "error", fields, message, cause });
  }

  warn(fields: LogFields, message: string, cause?: unknown): void {
    this.lines.push({ level: "warn", fields, message, cause });
  }

  info(fields: LogFields, message: string): void {
    this.lines.push({ level: "info", fields, message, cause: undefined });
  }

  debug(fields: LogFields, message: string): void {
    this.lines.push({ level: "debug", fields, message, cause: undefined });
  }

  /** Everything that would reach a log file. */
  text(): string {
    return JSON.stringify(this.lines, (_key, value: unknown) =>
      value instanceof Error ? String(value) : value,
    );
  }
}
