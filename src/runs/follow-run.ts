/** Replays the stored events of a run and then follows it, without gap or repeat (runs §9.4). */
import type { RunId } from "../domain/ids.js";
import { type RunEvent, TERMINAL_EVENTS } from "../domain/run.js";
import type { CallOptions } from "../ports/options.js";
import type { RunEvents } from "../ports/run-events.js";
import type { RunStore } from "../ports/run-store.js";

const PAGE = 100;

/** Ends after the terminal event; aborting ends the reading only. */
export async function* followRun(
  deps: { readonly runs: RunStore; readonly events: RunEvents },
  from: { readonly id: RunId; readonly after: number },
  options: CallOptions,
): AsyncGenerator<RunEvent, void> {
  let last = from.after;
  for (;;) {
    options.signal.throwIfAborted();
    const events = await deps.runs.eventsAfter(from.id, last, PAGE);
    for (const event of events) {
      yield event;
      last = event.sequence;
      if (TERMINAL_EVENTS.includes(event.type)) return;
    }
    if (events.length === 0) await deps.events.waitBeyond(from.id, last, options);
  }
}
