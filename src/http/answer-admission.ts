/** What every route that makes a run shares: the key of a repeated request, and the answer (api §1.5, §2). */
import type { Admission, RunService } from "../runs/run-service.js";
import { parseInput } from "./parse-input.js";
import type { Exchange } from "./route.js";
import { idempotencyHeaderSchema } from "./schemas/run-bodies.js";
import { type StreamRunDeps, streamRun } from "./stream-run.js";

export interface AnswerDeps extends StreamRunDeps {
  readonly runs: RunService;
}

/** The finished run, its events, or at once the run that waits. Whoever leaves early may want it stopped. */
export async function answerAdmission(
  deps: AnswerDeps,
  exchange: Exchange,
  answer: {
    readonly admission: Admission;
    readonly wanted: { readonly stream: boolean; readonly wait: boolean };
  },
): Promise<void> {
  const { admission, wanted } = answer;
  const { run, queued } = admission;
  const { response, caller, signal } = exchange;
  // A steered message has no stream of its own: the run that absorbs it has one.
  if (run.status === "steered" || (!wanted.stream && (!wanted.wait || queued))) {
    response.status(202).json(run);
    return;
  }
  const leave = (): void => deps.runs.clientGone(run.id);
  signal.addEventListener("abort", leave, { once: true });
  if (signal.aborted) leave();
  if (wanted.stream) await streamRun(deps, exchange, { id: run.id, after: 0 });
  else response.status(200).json(await deps.runs.wait(caller, run.id, { signal }));
}

export function readIdempotencyKey({ request }: Exchange): string | null {
  const given = request.headers["idempotency-key"];
  const headers = given === undefined ? {} : { "idempotency-key": given };
  return parseInput(idempotencyHeaderSchema, headers, "headers")["idempotency-key"] ?? null;
}
