/** Time as an argument. */
export interface Clock {
  /** Unix milliseconds; for display and expiry. */
  now(): number;
  /** Milliseconds from an arbitrary start that never runs backwards; for limits and durations. */
  elapsed(): number;
}
