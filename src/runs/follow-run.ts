/** Replays the stored events of a run and then follows it, without gap or repeat (runs §9.4). */
import type { RunId } from "../domain/ids.js";
import { isTerminal, type RunEvent, TERMINAL_EVENTS } from "../domain/run.js";
import type { CallOptions } from "../ports/options.js";
import type { RunEvents } from "../ports/run-events.js";
import type { RunStore } from "../ports/run-store.js";

const PAGE = 100;

export interface FollowFrom {
  readonly tenant: string;
  readonly id: RunId;
  /** Number of the last event the reader has seen; 0 = none. */
  readonly after: number;
}

/** Ends after the terminal event, also for a reader who has seen that one; aborting ends the reading only. */
export async function* followRun(
  deps: { readonly runs: RunStore; readonly events: RunEvents },
  from: FollowFrom,
  options: CallOptions,
): AsyncGenerator<RunEvent, void> {
  let last = from.after;
  // Who has seen the terminal event already waits for none: asked once, unless events say that the run goes on.
  let goesOn: boolean | null = null;
  for (;;) {
    options.signal.throwIfAborted();
    const events = await deps.runs.eventsAfter(from.id, last, PAGE);
    for (const event of events) {
      yield event;
      last = event.sequence;
      if (TERMINAL_EVENTS.includes(event.type)) return;
    }
    if (events.length === PAGE) continue;
    // An event that was stored between the two looks is found by one more round.
    if (goesOn === false) return;
    goesOn ??= events.length > 0 || !(await isOver(deps.runs, from));
    if (goesOn) await deps.events.waitBeyond(from.id, last, options);
  }
}

async function isOver(runs: RunStore, { tenant, id }: FollowFrom): Promise<boolean> {
  const run = await runs.get(tenant, id);
  return run === null || isTerminal(run.state);
}
