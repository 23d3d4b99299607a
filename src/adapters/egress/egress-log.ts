/** One line for each thing a box asked of the broker: who, where to, how much; never paths, queries or headers. */
import type { EgressTarget } from "../../domain/egress-rules.js";
import type { SessionId } from "../../domain/ids.js";
import type { Logger } from "../../ports/logger.js";

export interface Passage {
  readonly sessionId: SessionId;
  readonly method: string;
  /** Null when the request named none that can be read. */
  readonly target: EgressTarget | null;
  readonly sentBytes: number;
  readonly receivedBytes: number;
  readonly durationMs: number;
  /** Null = it was let through. */
  readonly refusal: string | null;
}

const MINUTE_MS = 60_000;
/** Of one session in a minute; what is above is counted and told together. */
const MAX_LINES = 120;
const MAX_METHOD_CHARS = 20;

export class EgressLog {
  readonly #logger: Logger;
  readonly #elapsed: () => number;
  readonly #minutes = new Map<SessionId, { begun: number; lines: number }>();

  constructor(logger: Logger, elapsed: () => number) {
    this.#logger = logger;
    this.#elapsed = elapsed;
  }

  tell({ sessionId, method, target, durationMs, refusal, ...bytes }: Passage): void {
    if (!this.#mayTell(sessionId)) return;
    const fields = {
      sessionId,
      method: method.slice(0, MAX_METHOD_CHARS),
      host: target?.host ?? null,
      port: target?.port ?? null,
      ...bytes,
      durationMs: Math.round(durationMs),
    };
    if (refusal === null) this.#logger.info({ ...fields, outcome: "allowed" }, "A box used its network.");
    else this.#logger.info({ ...fields, outcome: "refused", reason: refusal }, "A box was refused a host.");
  }

  #mayTell(sessionId: SessionId): boolean {
    const at = this.#elapsed();
    const minute = this.#minutes.get(sessionId);
    if (minute === undefined || at - minute.begun >= MINUTE_MS) {
      this.#sweep(at);
      this.#minutes.set(sessionId, { begun: at, lines: 1 });
      return true;
    }
    minute.lines += 1;
    return minute.lines <= MAX_LINES;
  }

  #sweep(at: number): void {
    for (const [sessionId, { begun, lines }] of this.#minutes) {
      if (at - begun < MINUTE_MS) continue;
      this.#minutes.delete(sessionId);
      const count = lines - MAX_LINES;
      if (count > 0)
        this.#logger.warn({ sessionId, count }, "More uses of a box's network were not told singly.");
    }
  }
}
