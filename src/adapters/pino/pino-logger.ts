/** Log lines as JSON, one per unit of work, without anything that must not be seen (security §10). */
import { type DestinationStream, type Logger as Pino, pino } from "pino";
import type { SecretMask } from "../../lib/secret-mask.js";
import { LOG_FIELDS, type LogFields, type Logger } from "../../ports/logger.js";
import { describeCause } from "./describe-cause.js";
import { scrubText } from "./scrub-text.js";

export interface PinoLoggerDeps {
  readonly level: "error" | "warn" | "info" | "debug" | "silent";
  /** Texts that no line may hold: the configured keys. */
  readonly mask: SecretMask;
  /** Takes whole lines; standard output if not given. */
  readonly destination?: DestinationStream | undefined;
}

const STANDARD_OUTPUT = 1;
const ALLOWED: ReadonlySet<string> = new Set(LOG_FIELDS);

export class PinoLogger implements Logger {
  readonly #pino: Pino;
  readonly #mask: SecretMask;

  constructor(deps: PinoLoggerDeps) {
    this.#mask = deps.mask;
    this.#pino = pino(
      {
        level: deps.level,
        base: null,
        messageKey: "message",
        timestamp: pino.stdTimeFunctions.isoTime,
        formatters: { level: (label) => ({ level: label }) },
      },
      // Written at once: what a dying process said last is what its operator needs.
      deps.destination ?? pino.destination({ fd: STANDARD_OUTPUT, sync: true }),
    );
  }

  error(fields: LogFields, message: string, cause?: unknown): void {
    if (this.#pino.isLevelEnabled("error"))
      this.#pino.error(this.#toLine(fields, cause), this.#scrub(message));
  }

  warn(fields: LogFields, message: string, cause?: unknown): void {
    if (this.#pino.isLevelEnabled("warn")) this.#pino.warn(this.#toLine(fields, cause), this.#scrub(message));
  }

  info(fields: LogFields, message: string): void {
    if (this.#pino.isLevelEnabled("info")) this.#pino.info(this.#toLine(fields), this.#scrub(message));
  }

  debug(fields: LogFields, message: string): void {
    if (this.#pino.isLevelEnabled("debug")) this.#pino.debug(this.#toLine(fields), this.#scrub(message));
  }

  #toLine(fields: LogFields, cause?: unknown): Readonly<Record<string, unknown>> {
    const entries = Object.entries(fields);
    const dropped = entries.flatMap(([name]) => (ALLOWED.has(name) ? [] : [this.#scrub(name)]));
    return {
      ...Object.fromEntries(
        entries
          .filter(([name]) => ALLOWED.has(name))
          .map(([name, value]) => [name, typeof value === "string" ? this.#scrub(value) : value]),
      ),
      ...(dropped.length === 0 ? {} : { dropped }),
      ...(cause === undefined ? {} : { error: describeCause(cause, this.#mask) }),
    };
  }

  #scrub(text: string): string {
    return scrubText(text, this.#mask);
  }
}
