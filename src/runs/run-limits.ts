/** The finite deadline of a run (runs §19.1). */

const MAX_DEADLINE_SEC = 3600;

export interface DeadlineInputs {
  /** Setting `runs.deadline_sec`. */
  readonly defaultSec: number;
  /** The pipeline's own `deadline`, or null. */
  readonly bindingSec: number | null;
  /** `timeout` of the runner config, as written. */
  readonly runnerTimeout: unknown;
}

/** Seconds a run may take; a runner's own timeout never removes the host's deadline. */
export function runDeadlineSec({ defaultSec, bindingSec, runnerTimeout }: DeadlineInputs): number {
  if (isCount(bindingSec) && bindingSec <= MAX_DEADLINE_SEC) return bindingSec;
  if (isCount(runnerTimeout) && runnerTimeout > defaultSec)
    return Math.min(runnerTimeout + 10, MAX_DEADLINE_SEC);
  return Math.min(defaultSec, MAX_DEADLINE_SEC);
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value > 0;
}
