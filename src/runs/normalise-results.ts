/** Checks what a runner yields, one result at a time (runs §18). Foreign input: nothing of it is trusted before. */
import { z } from "zod";
import { ServiceError } from "../domain/errors.js";
import type { RunId } from "../domain/ids.js";
import { RESULT_DATA, type ResultType, type RunnerResult, type RunWarning } from "../domain/result.js";
import { usageSchema } from "../domain/usage.js";

const MAX_RESULT_BYTES = 1024 * 1024;
const KEPT_TEXT_CHARS = 10_000;
const MAX_GENERATED_CHARS = 1024 * 1024;
const MAX_DELTAS = 100_000;

const envelopeSchema = z.looseObject({
  type: z.string(),
  data: z.unknown(),
  run_id: z.string(),
  sequence: z.unknown().optional(),
  timestamp: z.string().optional(),
  usage: usageSchema.optional(),
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
  #generatedChars = 0;
  #snapshotChars = 0;
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
    return this.#check(envelope.data);
  }

  #check(envelope: z.infer<typeof envelopeSchema>): Normalised {
    const { type } = envelope;
    if (!isResultType(type))
      return refused("result.unknown_type", `A result of type "${clip(type)}" is ignored.`);
    const numbered = this.#number(envelope.sequence);
    if (numbered.isRepeated) return { result: null, warnings: [] };
    const data = RESULT_DATA[type].safeParse(envelope.data);
    if (!data.success)
      return refused(
        "result.invalid",
        `A result of type "${type}" does not fit its schema: ${z.prettifyError(data.error)}`,
      );
    if (type === "message.delta" && !this.#options.streaming)
      return refused("result.not_streaming", "The runner streams without declaring it; a delta is dropped.");
    const bounded = boundSize(type, data.data);
    if (bounded === null)
      return refused(
        "result.too_large",
        `A result of type "${type}" is above ${MAX_RESULT_BYTES} bytes; it is refused.`,
      );
    const result = toResult({ ...envelope, type, data: bounded, sequence: numbered.sequence });
    this.#count(result);
    if (result.type === "run.completed" || result.type === "run.failed") this.#isOver = true;
    return { result, warnings: numbered.warnings };
  }

  #number(given: unknown): { sequence: number; isRepeated: boolean; warnings: readonly RunWarning[] } {
    const isNumber = typeof given === "number" && Number.isInteger(given) && given > 0;
    const sequence = isNumber ? given : this.#lastSequence + 1;
    if (sequence <= this.#lastSequence) return { sequence, isRepeated: true, warnings: [] };
    const hasGap = sequence > this.#lastSequence + 1;
    this.#lastSequence = sequence;
    const message = `Result ${sequence} came out of order; some before it are missing.`;
    return { sequence, isRepeated: false, warnings: hasGap ? [{ code: "result.gap", message }] : [] };
  }

  /** Snapshots are cumulative, so only their growth counts as generated. */
  #count(result: RunnerResult): void {
    if (result.type === "message.delta") {
      const { length } = result.data.chunk.content;
      this.#deltas += 1;
      this.#generatedChars += Math.max(0, length - this.#snapshotChars);
      this.#snapshotChars = length;
    }
    if (this.#generatedChars <= MAX_GENERATED_CHARS && this.#deltas <= MAX_DELTAS) return;
    throw new ServiceError(
      "run.output_limit",
      `The run generated ${this.#generatedChars} characters in ${this.#deltas} chunks; the limits are ${MAX_GENERATED_CHARS} and ${MAX_DELTAS}.`,
    );
  }
}

function isResultType(type: string): type is ResultType {
  return Object.hasOwn(RESULT_DATA, type);
}

/** Checks type and data together once more, as one tagged union. */
function toResult(envelope: {
  type: ResultType;
  data: unknown;
  run_id: string;
  sequence: number;
  timestamp?: string | undefined;
  usage?: z.infer<typeof usageSchema> | undefined;
}): RunnerResult {
  const { data, ...rest } = envelope;
  // The schema of exactly this type has just accepted the data; TypeScript cannot follow a look-up by key.
  return { ...rest, data } as RunnerResult;
}

/** @returns the data, cut where it may be cut; null where an oversized result must be refused (runs §18.4) */
function boundSize(type: ResultType, data: unknown): unknown {
  const text = JSON.stringify(data);
  if (Buffer.byteLength(text) <= MAX_RESULT_BYTES) return data;
  if (type === "tool.call.completed") return previewOfTool(data, text);
  if (
    type === "message.delta" ||
    type === "message.completed" ||
    type === "run.failed" ||
    type === "run.completed"
  )
    return cutTexts(data);
  return null;
}

function previewOfTool(data: unknown, text: string): unknown {
  const { tool_call_id, tool_name, model_text } = RESULT_DATA["tool.call.completed"].parse(data);
  return {
    tool_call_id,
    tool_name,
    ...(model_text === undefined ? {} : { model_text: cutText(model_text) }),
    result: {
      type: "tool_result_preview",
      truncated: true,
      reason: "result_too_large",
      original_chars: text.length,
      preview: text.slice(0, KEPT_TEXT_CHARS),
    },
  };
}

function cutTexts(value: unknown): unknown {
  if (typeof value === "string") return cutText(value);
  if (Array.isArray(value)) return value.map(cutTexts);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, cutTexts(item)]));
}

function cutText(text: string): string {
  if (text.length <= KEPT_TEXT_CHARS) return text;
  const kept = text.slice(0, KEPT_TEXT_CHARS).replace(/[\uD800-\uDBFF]$/, "");
  return `${kept}\n[cut: ${text.length} characters, kept ${kept.length}]`;
}

function refused(code: string, message: string): Normalised {
  return { result: null, warnings: [{ code, message: message.slice(0, 1000) }] };
}

function clip(text: string): string {
  return text.slice(0, 100);
}
