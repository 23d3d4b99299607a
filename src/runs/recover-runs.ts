/** What a start makes of the runs that the process before left open (runs §20.4, design §6). */
import { ServiceError } from "../domain/errors.js";
import { messageText } from "../domain/message.js";
import { RESULT_DATA } from "../domain/result.js";
import type { RunEvent } from "../domain/run.js";
import type { FileStore } from "../ports/file-store.js";
import type { RunEvents } from "../ports/run-events.js";
import type { RunRecord, RunStore } from "../ports/run-store.js";
import type { TranscriptStore } from "../ports/transcript-store.js";
import type { Claims } from "./claims.js";
import { closeCalls } from "./close-calls.js";
import { failedOutcome, terminalEvent } from "./end-run.js";
import type { Pipelines } from "./resolve-binding.js";
import type { SteeringEnds } from "./steering-ends.js";
import { exceptionHandlingOf } from "./user-notice.js";
import { VisibleText } from "./visible-text.js";

export interface RecoverDeps {
  readonly claims: Claims;
  readonly steeringEnds: SteeringEnds;
  readonly runs: RunStore;
  readonly transcripts: TranscriptStore;
  readonly files: FileStore;
  readonly events: RunEvents;
  readonly pipelines: Pipelines;
  readonly now: () => number;
}

const PAGE = 500;

/**
 * Ends every run that was executing.
 * @param isAlone no other process works with the ledger, so whoever holds a claim is dead; else only expired claims count
 * @returns the queued ones, oldest first, to be continued
 */
export async function recoverRuns(deps: RecoverDeps, isAlone: boolean): Promise<readonly RunRecord[]> {
  for (const run of await deps.runs.listOpen())
    if (run.state === "claimed" || run.state === "running") await resumeAbandoned(deps, run, isAlone);
  if (isAlone) await queueLoneMessages(deps.runs);
  return (await deps.runs.listOpen()).filter(({ state }) => state === "queued");
}

/** No run goes on, so a message that is still stored for one needs a run of its own. */
async function queueLoneMessages(runs: RunStore): Promise<void> {
  for (const { id, state } of await runs.listOpen())
    if (state === "created") await runs.update(id, { state: "queued" });
}

/**
 * Takes a run over that its worker has left: one that has begun is ended, one that has not is queued again.
 * @param isDead the worker is known to be dead, so that its claim need not expire first
 * @returns the run if it is to be executed
 */
export async function resumeAbandoned(
  deps: RecoverDeps,
  run: RunRecord,
  isDead = false,
): Promise<RunRecord | null> {
  const taken = isDead ? await deps.claims.takeOver(run.id) : await deps.claims.take(run.id);
  if (taken === null) return null;
  if (run.state === "running" || taken.startedAt !== null) {
    await endInterrupted(deps, taken);
    return null;
  }
  await deps.claims.giveBack(taken);
  return { ...taken, state: "queued", claim: null };
}

/** Ends a run that nobody executes any more; its exported files stay delivered. */
export async function endInterrupted(deps: RecoverDeps, run: RunRecord): Promise<void> {
  const text = await lastText(deps.runs, run);
  await closeCalls(deps.transcripts, run, deps.now());
  if (text !== "" && !(await hasFinalMessage(deps.transcripts, run))) await appendPartial(deps, run, text);
  const error = new ServiceError("run.interrupted", "The service stopped while this run was going on.", {
    hint: "Repeat it with POST /v1/runs/{id}/retry; files that were exported are kept.",
  });
  const exceptions = exceptionHandlingOf(deps.pipelines, run.pipeline);
  const outcome = failedOutcome({ run, error, text, endedAt: deps.now(), exceptions });
  const files = await deps.files.listByRun(run.tenant, run.id);
  const how = { epoch: run.epoch, steered: deps.steeringEnds.of(run) };
  const event = await deps.runs.finish(run.id, outcome, (record) => terminalEvent(record, files), how);
  if (event !== null) deps.events.notify(run.id, event.sequence);
}

/** The process may have stopped between the final message and the run's end; it is written once (runs §18.9). */
async function hasFinalMessage(transcripts: TranscriptStore, run: RunRecord): Promise<boolean> {
  const page = { direction: "backward" as const, from: null, limit: 1 };
  const [last] = await transcripts.page(run.tenant, run.conversation, page);
  return last?.run_id === run.id && last.message.role === "assistant";
}

async function appendPartial(deps: RecoverDeps, run: RunRecord, text: string): Promise<void> {
  await deps.transcripts.append({
    tenant: run.tenant,
    conversation: run.conversation,
    runId: run.id,
    eventId: null,
    message: { role: "assistant", content: text },
    partial: true,
    createdAt: deps.now(),
    epoch: run.epoch,
  });
}

/** What the user had seen, read from the stored events. */
async function lastText(runs: RunStore, run: RunRecord): Promise<string> {
  const shown = new VisibleText();
  let last = 0;
  for (;;) {
    const events = await runs.eventsAfter(run.id, last, PAGE);
    for (const event of events) {
      last = event.sequence;
      showEvent(shown, event);
    }
    if (events.length < PAGE) return shown.text;
  }
}

function showEvent(shown: VisibleText, { type, data }: RunEvent): void {
  if (type === "message.delta") {
    const parsed = RESULT_DATA["message.delta"].safeParse(data);
    if (parsed.success) shown.stream(parsed.data.chunk.content);
  }
  if (type === "message.completed") {
    const parsed = RESULT_DATA["message.completed"].safeParse(data);
    if (parsed.success) shown.complete(messageText(parsed.data.message));
  }
}
