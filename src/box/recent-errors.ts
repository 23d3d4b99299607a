/** What went wrong with boxes lately, in memory: the newest errors of each tenant and of the engine itself (box §3.4). */
import { type ErrorCode, toServiceError } from "../domain/errors.js";
import type { Clock } from "../ports/clock.js";

const MAX_KEPT = 50;
/** Tenants whose errors are kept; who had none for the longest time goes first. */
const MAX_TENANTS = 1000;
const MAX_MESSAGE_CHARS = 500;

export interface BoxError {
  /** RFC 3339 UTC. */
  readonly timestamp: string;
  readonly code: ErrorCode;
  /** One line. */
  readonly message: string;
}

interface KeptError extends BoxError {
  readonly order: number;
}

export class RecentErrors {
  readonly #clock: Clock;
  /** By tenant; null = of the engine, which concerns everybody. */
  readonly #kept = new Map<string | null, readonly KeptError[]>();
  #count = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @param tenant null for what is nobody's in particular */
  add(error: unknown, tenant: string | null): void {
    this.#count += 1;
    const { code, message } = toServiceError(error);
    const kept = {
      timestamp: new Date(this.#clock.now()).toISOString(),
      code,
      message: message.replace(/\s+/gu, " ").slice(0, MAX_MESSAGE_CHARS),
      order: this.#count,
    };
    const all = [...this.#of(tenant), kept].slice(-MAX_KEPT);
    this.#kept.delete(tenant);
    this.#kept.set(tenant, all);
    this.#forgetOldest();
  }

  /** The newest 50 of the tenant and of the engine, in the order they came. */
  newest(tenant: string): readonly BoxError[] {
    return [...this.#of(tenant), ...this.#of(null)]
      .toSorted((one, other) => one.order - other.order)
      .slice(-MAX_KEPT)
      .map(({ timestamp, code, message }) => ({ timestamp, code, message }));
  }

  #forgetOldest(): void {
    for (const tenant of this.#kept.keys()) {
      if (this.#kept.size <= MAX_TENANTS) return;
      if (tenant !== null) this.#kept.delete(tenant);
    }
  }

  #of(tenant: string | null): readonly KeptError[] {
    return this.#kept.get(tenant) ?? [];
  }
}
