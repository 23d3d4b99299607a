/** Calls that nobody will answer are answered in the history, so that the next request is valid (local-agent §12.15). */
import type { RunRecord } from "../ports/run-store.js";
import type { TranscriptStore } from "../ports/transcript-store.js";

const ANSWER = "Error: interrupted: result unknown";

/** @param createdAt Unix milliseconds */
export async function closeCalls(
  transcripts: TranscriptStore,
  run: RunRecord,
  createdAt: number,
): Promise<void> {
  for (const call of await transcripts.unansweredCalls(run.id))
    await transcripts.append({
      tenant: run.tenant,
      conversation: run.conversation,
      runId: run.id,
      eventId: null,
      message: { role: "tool", tool_call_id: call.id, content: ANSWER },
      partial: false,
      createdAt,
      epoch: run.epoch,
    });
}
