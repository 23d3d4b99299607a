/** Why a signal aborted, as an error that can be thrown: `AbortController.abort` takes any value. */
export function abortReason(signal: AbortSignal): Error {
  const reason: unknown = signal.reason;
  return reason instanceof Error ? reason : new Error("Aborted.", { cause: reason });
}
