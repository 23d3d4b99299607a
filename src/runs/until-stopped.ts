/** Reads a runner's stream until it ends or the run is stopped; a runner that does not react holds up nobody (runs §19). */
import { setImmediate as letOthersIn } from "node:timers/promises";

export interface StopOptions {
  readonly signal: AbortSignal;
  /** Milliseconds the stream is given to end by itself after the signal; what it yields then is dropped. */
  readonly graceMs: number;
}

/** A stream that never really waits would keep timers and requests, a cancel among them, from ever being looked at. */
const ITEMS_IN_A_ROW = 64;

/**
 * Yields what the source yields; one whose signal has aborted before is not even begun.
 * @throws the signal's reason once it has aborted
 */
export async function* untilStopped<Item>(
  source: AsyncIterable<Item>,
  { signal, graceMs }: StopOptions,
): AsyncGenerator<Item, void> {
  signal.throwIfAborted();
  const iterator = source[Symbol.asyncIterator]();
  let hasEnded = false;
  try {
    for (let count = 1; ; count += 1) {
      const step = await settleOrStop(iterator.next(), signal);
      if (step === "stopped") break;
      if (step.done === true) {
        hasEnded = true;
        return;
      }
      yield step.value;
      if (count % ITEMS_IN_A_ROW === 0) await letOthersIn();
    }
    hasEnded = await drain(iterator, graceMs);
    signal.throwIfAborted();
  } finally {
    // A generator that is stuck in an await answers its return() only later, or never.
    if (!hasEnded) iterator.return?.().then(ignore, ignore);
  }
}

function ignore(): void {
  // The run has its outcome; nothing that a late stream says can change it.
}

async function settleOrStop<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value | "stopped"> {
  if (signal.aborted) {
    work.then(ignore, ignore);
    return "stopped";
  }
  return new Promise((resolve, reject) => {
    const stop = (): void => resolve("stopped");
    signal.addEventListener("abort", stop, { once: true });
    const settle = async (): Promise<void> => {
      try {
        resolve(await work);
      } catch (error) {
        if (signal.aborted) resolve("stopped");
        else reject(error instanceof Error ? error : new Error(String(error)));
      } finally {
        signal.removeEventListener("abort", stop);
      }
    };
    void settle();
  });
}

/** @returns whether the stream ended within the grace */
async function drain<Item>(iterator: AsyncIterator<Item>, graceMs: number): Promise<boolean> {
  if (graceMs <= 0) return false;
  const limit = AbortSignal.timeout(graceMs);
  for (let count = 1; !limit.aborted; count += 1) {
    const step = await settleOrStop(endOnFailure(iterator.next()), limit);
    if (step === "stopped") return false;
    if (step.done === true) return true;
    if (count % ITEMS_IN_A_ROW === 0) await letOthersIn();
  }
  return false;
}

/** A stream that fails after the signal has ended as well. */
async function endOnFailure<Item>(step: Promise<IteratorResult<Item>>): Promise<IteratorResult<Item>> {
  try {
    return await step;
  } catch {
    return { done: true, value: undefined };
  }
}
