/** Reads a runner's stream until it ends or the run is stopped; a runner that does not react holds up nobody (runs §19). */

export interface StopOptions {
  readonly signal: AbortSignal;
  /** Milliseconds the stream is given to end by itself after the signal; what it yields then is dropped. */
  readonly graceMs: number;
}

/** Yields what the source yields. @throws the signal's reason once it has aborted */
export async function* untilStopped<Item>(
  source: AsyncIterable<Item>,
  { signal, graceMs }: StopOptions,
): AsyncGenerator<Item, void> {
  const iterator = source[Symbol.asyncIterator]();
  let hasEnded = false;
  try {
    for (;;) {
      const step = await settleOrStop(iterator.next(), signal);
      if (step === "stopped") break;
      if (step.done === true) {
        hasEnded = true;
        return;
      }
      yield step.value;
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
    const settle = (): void => signal.removeEventListener("abort", stop);
    work.then(
      (value) => {
        settle();
        resolve(value);
      },
      (error: unknown) => {
        settle();
        if (signal.aborted) resolve("stopped");
        else reject(error instanceof Error ? error : new Error(String(error)));
      },
    );
  });
}

/** @returns whether the stream ended within the grace */
async function drain<Item>(iterator: AsyncIterator<Item>, graceMs: number): Promise<boolean> {
  if (graceMs <= 0) return false;
  const limit = AbortSignal.timeout(graceMs);
  while (!limit.aborted) {
    const step = await settleOrStop(
      iterator.next().catch(() => ({ done: true, value: undefined })),
      limit,
    );
    if (step === "stopped") return false;
    if (step.done === true) return true;
  }
  return false;
}
