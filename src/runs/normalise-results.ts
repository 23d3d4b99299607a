/** Checks what a runner yields, one result at a time (runs §18). Foreign input: nothing of it is trusted before. */
import { z } from "zod";
import { ServiceError } from "../domain/errors.js";
import type { RunId } from "../domain/ids.js";
import { messageText } from "../domain/message.js";
import { RESULT_DATA, type RunnerResult, type RunWarning } from "../domain/result.js";
import { boundResult, MAX_RESULT_BYTES } from "./bound-result.js";
import { resultSchema } from "./result-schema.js";

const MAX_GENERATED_CHARS = 1024 * 1024;
const MAX_DELTAS = 100_000;
const MAX_WARNING_CHARS = 1000;

const envelopeSchema = z.looseObject({
  type: z.string(),
  run_id: z.string(),
  sequence: z.unknown().optional(),
});

export interface Normalised {
  readonly result: RunnerResult | null;
  readonly warnings: readonly RunWarning[];
}

export interface NormaliserOptions {
  readonly runId: RunId;
  /** The runner declares `streaming`; without it deltas are dropped with a warning (runs §2.2). */
  readonly streaming: boolean;
}

export class ResultNormaliser {
  readonly #options: NormaliserOptions;
  #lastSequence = 0;
  #streamedChars = 0;
  #snapshotChars = 0;
  #completeChars = 0;
  #deltas = 0;
  #isOver = false;

  constructor(options: NormaliserOptions) {
    this.#options = options;
  }

  /**
   * @throws ServiceError `runner.protocol` for something that is no result of this run,
   *   `run.output_limit` when the run has generated too much
   */
  take(raw: unknown): Normalised {
    if (this.#isOver) return { result: null, warnings: [] };
    const envelope = envelopeSchema.safeParse(raw);
    if (!envelope.success)
      throw new ServiceError("runner.protocol", "The runner yielded something that is no result.");
    if (envelope.data.run_id !== this.#options.runId)
      throw new ServiceError("runner.protocol", "The runner yielded a result of another run.");
    const sequence = this.#number(envelope.data.sequence);
    if (sequence === null) return { result: null, warnings: [] };
    const { result, warnings } = this.#check({ ...envelope.data, sequence: sequence.number });
    if (result?.type === "run.completed" || result?.type === "run.failed") this.#isOver = true;
    return { result, warnings: [...sequence.warnings, ...warnings] };
  }

  /** @returns null for a number that came before */
  #number(given: unknown): { readonly number: number; readonly warnings: readonly RunWarning[] } | null {
    const isNumber = typeof given === "number" && Number.isSafeInteger(given) && given > 0;
    const number = isNumber ? given : this.#lastSequence + 1;
    if (number <= this.#lastSequence) return null;
    const hasGap = number > this.#lastSequence + 1;
    this.#lastSequence = number;
    const message = `Result ${number} came out of order; some before it are missing.`;
    return { number, warnings: hasGap ? [{ code: "result.gap", message }] : [] };
  }

  #check(envelope: z.infer<typeof envelopeSchema>): Normalised {
    const { type } = envelope;
    if (!Object.hasOwn(RESULT_DATA, type))
      return refused("result.unknown_type", `A result of type "${type.slice(0, 100)}" is ignored.`);
    const parsed = resultSchema.safeParse(envelope);
    if (!parsed.success)
      return refused(
        "result.invalid",
        `A result of type "${type}" does not fit its schema: ${z.prettifyError(parsed.error)}`,
      );
    if (type === "message.delta" && !this.#options.streaming)
      return refused("result.not_streaming", "The runner streams without declaring it; a delta is dropped.");
    this.#countDelta(parsed.data);
    const bound = boundResult(parsed.data);
    if (!bound.ok) return refuseUnbound(type, bound.fault);
    this.#countComplete(bound.result);
    return { result: bound.result, warnings: [] };
  }

  /** Snapshots are cumulative, so only their growth counts as generated; it counts before anything of it is cut. */
  #countDelta(result: RunnerResult): void {
    if (result.type !== "message.delta") return;
    const { length } = result.data.chunk.content;
    this.#deltas += 1;
    this.#streamedChars += Math.max(0, length - this.#snapshotChars);
    this.#snapshotChars = length;
    this.#checkLimits();
  }

  /** A complete message repeats what was streamed, so the two are counted apart. */
  #countComplete(result: RunnerResult): void {
    if (result.type !== "message.completed") return;
    this.#completeChars += messageText(result.data.message).length;
    this.#checkLimits();
  }

  #checkLimits(): void {
    const chars = Math.max(this.#streamedChars, this.#completeChars);
    if (chars <= MAX_GENERATED_CHARS && this.#deltas <= MAX_DELTAS) return;
    throw new ServiceError(
      "run.output_limit",
      `The run generated ${chars} characters in ${this.#deltas} chunks; the limits are ${MAX_GENERATED_CHARS} and ${MAX_DELTAS}.`,
      { hint: "Ask for less at once, or have it written to a file." },
    );
  }
}

function refuseUnbound(type: string, fault: "too_large" | "not_json"): Normalised {
  if (fault === "not_json") return refused("result.invalid", `A result of type "${type}" is not plain JSON.`);
  return refused(
    "result.too_large",
    `A result of type "${type}" is above ${MAX_RESULT_BYTES} bytes; it is refused.`,
  );
}

function refused(code: string, message: string): Normalised {
  return { result: null, warnings: [{ code, message: message.slice(0, MAX_WARNING_CHARS) }] };
}
