/** The last argument of every asynchronous port method: the signal that stops the waiting and the work. */
export interface CallOptions {
  readonly signal: AbortSignal;
}
