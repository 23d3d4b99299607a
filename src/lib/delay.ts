/** Waiting for time to pass: always with a signal, never with a loser left running. */
import { abortReason } from "./abort-reason.js";

/** Resolves after `ms`; rejects with the signal's reason as soon as it aborts. */
export async function delay(ms: number, { signal }: { readonly signal: AbortSignal }): Promise<void> {
  signal.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(abortReason(signal));
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal.addEventListener("abort", stop, { once: true });
  });
}

/**
 * Waits for the work, but at most `ms`; the work goes on and can be waited for again.
 * @returns whether the work has ended, well or not
 */
export async function endsWithin(work: Promise<unknown>, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), ms);
    const end = (): void => {
      clearTimeout(timer);
      resolve(true);
    };
    work.then(end, end);
  });
}
