/** Waiting for work that may not listen to a signal. */
import { abortReason } from "./abort-reason.js";

/** Follows `work` until the signal aborts; the work itself goes on, and a failure of it stays handled. */
export async function leaveOnAbort<Value>(
  work: Promise<Value>,
  { signal }: { readonly signal: AbortSignal },
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(abortReason(signal));
    if (signal.aborted) leave();
    signal.addEventListener("abort", leave, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", leave));
  });
}
