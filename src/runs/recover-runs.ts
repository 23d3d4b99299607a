/** What a start makes of the runs that the process before left open (runs §20.4, design §6). */
import { ServiceError } from "../domain/errors.js";
import type { FileStore } from "../ports/file-store.js";
import type { RunEvents } from "../ports/run-events.js";
import type { RunRecord, RunStore } from "../ports/run-store.js";
import type { TranscriptStore } from "../ports/transcript-store.js";
import { failedOutcome, terminalEvent } from "./end-run.js";

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
  const isQueued = (run: RunRecord): boolean => run.state === "created" || run.state === "queued";
  for (const run of open.filter((candidate) => !isQueued(candidate))) await interrupt(deps, run);
  return open.filter(isQueued);
}

async function interrupt(deps: RecoverDeps, run: RunRecord): Promise<void> {
  const text = await lastText(deps.runs, run);
  await closeCalls(deps, run);
  if (text !== "") await appendPartial(deps, run, text);
  const error = new ServiceError("run.interrupted", "The service stopped while this run was going on.", {
    hint: "Send the message again; files that were exported are kept.",
  });
  const outcome = failedOutcome({ run, error, text, endedAt: deps.now() });
  const files = await deps.files.listByRun(run.tenant, run.id);
  const event = await deps.runs.finish(run.id, outcome, (record) => terminalEvent(record, files));
  if (event !== null) deps.events.notify(run.id, event.sequence);
}

/** Calls that nobody will answer are answered in the history, so that the next request is valid (local-agent §12.15). */
async function closeCalls(deps: RecoverDeps, run: RunRecord): Promise<void> {
  for (const call of await deps.transcripts.unansweredCalls(run.id))
    await deps.transcripts.append({
      ...entry(deps, run),
      message: { role: "tool", tool_call_id: call.id, content: "Error: interrupted: result unknown" },
    });
}

async function appendPartial(deps: RecoverDeps, run: RunRecord, text: string): Promise<void> {
  await deps.transcripts.append({
    ...entry(deps, run),
    partial: true,
    message: { role: "assistant", content: text },
  });
}

function entry(deps: RecoverDeps, run: RunRecord) {
  return {
    tenant: run.tenant,
    conversation: run.conversation,
    runId: run.id,
    eventId: null,
    partial: false,
    createdAt: deps.now(),
  };
}

/** The last snapshot that was stored; what the user had seen. */
async function lastText(runs: RunStore, run: RunRecord): Promise<string> {
  let text = "";
  let last = 0;
  for (;;) {
    const events = await runs.eventsAfter(run.id, last, PAGE);
    for (const event of events) {
      last = event.sequence;
      if (event.type === "message.delta") text = snapshotOf(event.data) ?? text;
    }
    if (events.length < PAGE) return text;
  }
}

function snapshotOf(data: Readonly<Record<string, unknown>>): string | null {
  const chunk = data["chunk"];
  if (typeof chunk !== "object" || chunk === null || !("content" in chunk)) return null;
  return typeof chunk.content === "string" ? chunk.content : null;
}
