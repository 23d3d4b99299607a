/** What a start makes of the runs that the process before left open (runs §20.4, design §6). */
import { ServiceError } from "../domain/errors.js";
import { messageText } from "../domain/message.js";
import { RESULT_DATA } from "../domain/result.js";
import type { RunEvent } from "../domain/run.js";
import type { FileStore } from "../ports/file-store.js";
import type { RunEvents } from "../ports/run-events.js";
import type { RunRecord, RunStore } from "../ports/run-store.js";
import type { TranscriptStore } from "../ports/transcript-store.js";
import { closeCalls } from "./close-calls.js";
import { failedOutcome, terminalEvent } from "./end-run.js";
import { VisibleText } from "./visible-text.js";

export interface RecoverDeps {
  readonly runs: RunStore;
  readonly transcripts: TranscriptStore;
  readonly files: FileStore;
  readonly events: RunEvents;
  readonly now: () => number;
}

const PAGE = 500;

/** Ends every run that was executing. @returns the queued ones, oldest first, to be continued */
export async function recoverRuns(deps: RecoverDeps): Promise<readonly RunRecord[]> {
  const open = await deps.runs.listOpen();
  for (const run of open) if (!isQueued(run)) await endInterrupted(deps, run);
  return open.filter(isQueued);
}

function isQueued({ state }: RunRecord): boolean {
  return state === "created" || state === "queued";
}

/** Ends a run that nobody executes any more; its exported files stay delivered. */
export async function endInterrupted(deps: RecoverDeps, run: RunRecord): Promise<void> {
  const text = await lastText(deps.runs, run);
  await closeCalls(deps.transcripts, run, deps.now());
  if (text !== "" && !(await hasFinalMessage(deps.transcripts, run))) await appendPartial(deps, run, text);
  const error = new ServiceError("run.interrupted", "The service stopped while this run was going on.", {
    hint: "Repeat it with POST /v1/runs/{id}/retry; files that were exported are kept.",
  });
  const outcome = failedOutcome({ run, error, text, endedAt: deps.now() });
  const files = await deps.files.listByRun(run.tenant, run.id);
  const event = await deps.runs.finish(run.id, outcome, (record) => terminalEvent(record, files));
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
