/** Keeps one result within its size before anything of it is stored (runs §18.4). Pure. */
import type { ResultType, RunnerResult } from "../domain/result.js";
import { resultSchema } from "./result-schema.js";

/** Bytes of a result as JSON. */
export const MAX_RESULT_BYTES = 1024 * 1024;
const KEPT_CHARS = 10_000;
const WITH_TEXT: ReadonlySet<ResultType> = new Set([
  "message.delta",
  "message.completed",
  "run.completed",
  "run.failed",
]);

export type BoundResult =
  | { readonly ok: true; readonly result: RunnerResult }
  | { readonly ok: false; readonly fault: "too_large" | "not_json" };

/** Texts of messages and errors are cut, a tool result gives way to a preview; what is still too large is refused. */
export function boundResult(result: RunnerResult): BoundResult {
  const text = toJson(result.data);
  if (text === null) return { ok: false, fault: "not_json" };
  if (fits(text)) return { ok: true, result };
  const cut = shorten(result, text);
  return cut !== null && fits(JSON.stringify(cut.data))
    ? { ok: true, result: cut }
    : { ok: false, fault: "too_large" };
}

/** @returns null for what JSON cannot carry: a loop, a big integer */
function toJson(value: unknown): string | null {
  try {
    return JSON.stringify(value);
  } catch {
    return null;
  }
}

function fits(text: string): boolean {
  return Buffer.byteLength(text) <= MAX_RESULT_BYTES;
}

/** @returns null where nothing may be cut */
function shorten(result: RunnerResult, text: string): RunnerResult | null {
  if (result.type === "tool.call.completed") return { ...result, data: previewOfTool(result.data, text) };
  if (!WITH_TEXT.has(result.type)) return null;
  const cut = resultSchema.safeParse({ ...result, data: cutTexts(result.data) });
  return cut.success ? cut.data : null;
}

type ToolData = Extract<RunnerResult, { type: "tool.call.completed" }>["data"];

function previewOfTool(data: ToolData, text: string): ToolData {
  const { tool_call_id, tool_name, model_text } = data;
  return {
    tool_call_id,
    tool_name,
    ...(model_text === undefined ? {} : { model_text: cutText(model_text) }),
    result: {
      type: "tool_result_preview",
      truncated: true,
      reason: "result_too_large",
      original_chars: text.length,
      preview: keepWhole(text),
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
  if (text.length <= KEPT_CHARS) return text;
  const kept = keepWhole(text);
  return `${kept}\n[cut: ${text.length} characters, kept ${kept.length}]`;
}

/** The first characters, without half of a surrogate pair at the end. */
function keepWhole(text: string): string {
  return text.slice(0, KEPT_CHARS).replace(/[\uD800-\uDBFF]$/, "");
}
