/** One run per idempotency key: the same again, a new attempt after a failure, or a mismatch (runs §9.2). */
import { ServiceError } from "../domain/errors.js";
import type { RunId } from "../domain/ids.js";
import type { IdempotencyRecord, IdempotencyStore } from "../ports/idempotency-store.js";
import type { RunRecord } from "../ports/run-store.js";

/** Milliseconds a key is kept. */
export const KEY_KEPT_MS = 24 * 60 * 60 * 1000;

export type IdempotencyVerdict =
  /** The key is new, or the request that had it was refused: this request makes the run. */
  | { readonly kind: "first" }
  /** The key's run stands: attach to it or replay it. */
  | { readonly kind: "same"; readonly runId: RunId }
  /** The key's run failed or timed out: a new attempt with its attachments. */
  | { readonly kind: "again"; readonly after: RunRecord };

export interface IdempotencyDeps {
  readonly keys: IdempotencyStore;
  readonly findRun: (id: RunId) => Promise<RunRecord | null>;
  /** The key's message is absorbed by a run, and is none of its own. */
  readonly isSteered: (id: RunId) => Promise<boolean>;
}

/**
 * @param claim the record this request would stand behind, with the id of the run it would make
 * @throws ServiceError `idempotency.mismatch` for the same key with another body
 */
export async function judgeKey(deps: IdempotencyDeps, claim: IdempotencyRecord): Promise<IdempotencyVerdict> {
  const standing = await deps.keys.claim(claim, claim.createdAt - KEY_KEPT_MS);
  if (standing.runId === claim.runId) return { kind: "first" };
  const run = await deps.findRun(standing.runId);
  const isTaken = run !== null || (await deps.isSteered(standing.runId));
  // A key whose request was refused stands for nothing yet: the corrected request may have it.
  if (isTaken && standing.bodyHash !== claim.bodyHash) throw mismatch();
  if (isTaken && !hasFailed(run)) return { kind: "same", runId: standing.runId };
  const replaced = await deps.keys.replace(claim, standing.runId);
  if (replaced.runId !== claim.runId) return { kind: "same", runId: replaced.runId };
  return run === null ? { kind: "first" } : { kind: "again", after: run };
}

function hasFailed(run: RunRecord | null): boolean {
  return run?.state === "failed" || run?.state === "timeout";
}

function mismatch(): ServiceError {
  return new ServiceError("idempotency.mismatch", "This Idempotency-Key was used with another body.", {
    hint: "Use a new key for a new request.",
    param: "Idempotency-Key",
  });
}
