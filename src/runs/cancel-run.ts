/** Stops one run and says where the messages are that were meant for it or waited behind it (runs §14.7, §19.4). */
import { ServiceError } from "../domain/errors.js";
import type { Run } from "../domain/run.js";
import type { Clock } from "../ports/clock.js";
import type { CallOptions } from "../ports/options.js";
import type { RunRecord } from "../ports/run-store.js";
import type { SteeringStore } from "../ports/steering-store.js";
import type { TranscriptStore } from "../ports/transcript-store.js";
import type { ExecuteQueue } from "./execute-queue.js";
import type { Orchestrator } from "./orchestrator.js";
import type { CancelledRun } from "./run-service.js";
import type { SteeringEnds } from "./steering-ends.js";
import { userEntry } from "./user-entry.js";

export interface CancelDeps {
  readonly queue: ExecuteQueue;
  readonly orchestrator: Pick<Orchestrator, "endUnstarted">;
  readonly steering: SteeringStore;
  readonly steeringEnds: SteeringEnds;
  readonly transcripts: TranscriptStore;
  readonly clock: Clock;
  /** The run once it is terminal. */
  readonly wait: (run: RunRecord, options: CallOptions) => Promise<Run>;
}

export interface Cancelling {
  readonly run: RunRecord;
  readonly queue: "keep" | "clear";
}

/** @returns the run as it ended; it may have come to its end by itself at the same moment */
export async function cancelRun(
  deps: CancelDeps,
  { run, queue }: Cancelling,
  options: CallOptions,
): Promise<CancelledRun> {
  const isCleared = queue === "clear";
  using _clearing = isCleared ? deps.steeringEnds.clear(run.id) : null;
  const behind = deps.queue.waiting(run).filter(({ id }) => id !== run.id);
  // Out of the line first: the run's end would let the next one begin.
  const withdrawn = isCleared ? behind.filter((waiting) => deps.queue.withdraw(waiting)) : [];
  await deps.queue.stopRun(run, cancelled());
  const stopped = await deps.wait(run, options);
  for (const waiting of withdrawn) await leaveUnanswered(deps, waiting);
  const own = await deps.steering.listByRun(run.tenant, run.id);
  const known = new Set(own.map(({ id }) => id));
  const others = behind.filter(({ id }) => !known.has(id));
  const place = isCleared ? ("not_answered" as const) : ("queue" as const);
  return {
    ...stopped,
    messages: [
      ...own.map((item) => ({ id: item.id, place: item.place })),
      ...others.map(({ id }) => ({ id, place })),
    ],
  };
}

/** The message is in the history, and its run ends before it has begun. */
async function leaveUnanswered(deps: CancelDeps, run: RunRecord): Promise<void> {
  const { tenant, conversation, id: runId, eventId } = run;
  const now = deps.clock.now();
  if (run.trigger.event_type === "message.received")
    await deps.transcripts.append({
      tenant,
      conversation,
      runId,
      eventId,
      message: userEntry(run),
      partial: false,
      createdAt: now,
    });
  await deps.steering.markNotAnswered([runId], now);
  await deps.orchestrator.endUnstarted(run, notAnswered());
}

export function cancelled(): ServiceError {
  return new ServiceError("cancelled", "The run was cancelled.");
}

function notAnswered(): ServiceError {
  return new ServiceError("cancelled", "The queue was cleared before the message had its turn.", {
    hint: "Send it again if it is still to be answered.",
    details: { place: "not_answered" },
  });
}
