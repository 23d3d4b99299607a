/** Runs of one conversation execute one at a time in arrival order; different conversations run in parallel (runs §7.5). */
import { ServiceError } from "../domain/errors.js";
import type { RunId } from "../domain/ids.js";

const MAX_WAITING = 100;

interface Line {
  current: RunId;
  readonly waiting: RunId[];
}

export class ConversationQueue {
  readonly #lines = new Map<string, Line>();
  readonly #start: (runId: RunId) => void;

  /** @param start called for a run whose turn it is */
  constructor(start: (runId: RunId) => void) {
    this.#start = start;
  }

  /** @returns whether a message of that conversation would have to wait */
  isBusy(conversation: string): boolean {
    return this.#lines.has(conversation);
  }

  /** @returns whether the run stands behind another one */
  isWaiting(conversation: string, runId: RunId): boolean {
    return this.#lines.get(conversation)?.waiting.includes(runId) ?? false;
  }

  /** @throws ServiceError `run.queue_full` when 100 messages wait already */
  checkRoom(conversation: string): void {
    const waiting = this.#lines.get(conversation)?.waiting.length ?? 0;
    if (waiting < MAX_WAITING) return;
    throw new ServiceError(
      "run.queue_full",
      `${waiting} messages wait in this conversation; the limit is ${MAX_WAITING}.`,
      { hint: "Wait for answers, or cancel a run." },
    );
  }

  enter(conversation: string, runId: RunId): void {
    const line = this.#lines.get(conversation);
    if (line !== undefined) {
      line.waiting.push(runId);
      return;
    }
    this.#lines.set(conversation, { current: runId, waiting: [] });
    this.#start(runId);
  }

  /** The run whose turn it is; null while nothing is going on. */
  current(conversation: string): RunId | null {
    return this.#lines.get(conversation)?.current ?? null;
  }

  /** Runs that stand behind it, in order. */
  waiting(conversation: string): readonly RunId[] {
    return [...(this.#lines.get(conversation)?.waiting ?? [])];
  }

  /** Puts runs before all that wait, in this order. */
  enterFirst(conversation: string, runIds: readonly RunId[]): void {
    const line = this.#lines.get(conversation);
    if (line !== undefined) line.waiting.unshift(...runIds);
    else for (const runId of runIds) this.enter(conversation, runId);
  }

  /** Takes a run that has not started out of its line. @returns false when it is not waiting */
  withdraw(conversation: string, runId: RunId): boolean {
    const waiting = this.#lines.get(conversation)?.waiting ?? [];
    const index = waiting.indexOf(runId);
    if (index === -1) return false;
    waiting.splice(index, 1);
    return true;
  }

  /** The current run of the conversation is over: the next one starts. */
  leave(conversation: string, runId: RunId): void {
    const line = this.#lines.get(conversation);
    if (line === undefined || line.current !== runId) return;
    const next = line.waiting.shift();
    if (next === undefined) {
      this.#lines.delete(conversation);
      return;
    }
    line.current = next;
    this.#start(next);
  }
}
