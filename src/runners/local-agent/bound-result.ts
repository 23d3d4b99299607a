/** Fits a tool result into its limit and says what is missing (local-agent §9.2–§9.5). Pure. */
import { measureText, prefixWithin } from "../../lib/code-points.js";
import { isObject } from "./parse-arguments.js";
import { type FileReference, findReferences } from "./result-references.js";
import { ERROR_PREFIX, type ToolText } from "./tool-text.js";

const MARKER_CHARS = 300;
const EVENT_PREVIEW_CHARS = 2000;

export interface BoundedResult {
  /** For the model. */
  readonly modelText: string;
  /** For the run's events: the result itself, or a preview of it. */
  readonly eventResult: unknown;
}

export function isTooLong(text: ToolText, maxChars: number): boolean {
  return measureText(text.text).chars > maxChars;
}

/** @param savedPath Where in the box the full text lies, or null (§9.3). */
export function boundResult(
  text: ToolText,
  { maxChars, savedPath }: { readonly maxChars: number; readonly savedPath: string | null },
): BoundedResult {
  const isCut = isTooLong(text, maxChars);
  const references = findReferences(text.value, { includeRoot: isCut });
  if (!isCut) {
    const modelText = references.length === 0 ? text.text : referenceText(text, { references, savedPath });
    return { modelText, eventResult: text.value };
  }
  const kept = keepHead(text, maxChars);
  const modelText =
    references.length === 0
      ? `${kept}\n${marker(text.text, { kept, savedPath })}`
      : referenceText(text, { references, savedPath, preview: kept });
  return { modelText, eventResult: previewOf(text.text, maxChars) };
}

/** The form a result has in `tool.call.completed` (§7.7). */
export function wrapResult(result: unknown): Readonly<Record<string, unknown>> {
  return isObject(result) ? result : { value: result ?? null };
}

/** The error prefix counts as kept and always survives. */
function keepHead({ text, isError }: ToolText, maxChars: number): string {
  const chars = isError ? Math.max(maxChars, ERROR_PREFIX.length) : maxChars;
  return prefixWithin(text, { chars, bytes: Number.POSITIVE_INFINITY });
}

function marker(
  text: string,
  { kept, savedPath }: { readonly kept: string; readonly savedPath: string | null },
): string {
  const figures = `original_chars=${measureText(text).chars}, kept_chars=${measureText(kept).chars}`;
  const start = `[tool result truncated: ${figures}. `;
  const room = MARKER_CHARS - start.length - 1;
  return `${start}${prefixWithin(advice(savedPath), { chars: room, bytes: Number.POSITIVE_INFINITY })}]`;
}

function advice(savedPath: string | null): string {
  return savedPath === null
    ? "Ask for a smaller part of it."
    : `The full text is in ${savedPath}; read the parts you need.`;
}

function referenceText(
  text: ToolText,
  facts: {
    readonly references: readonly FileReference[];
    readonly savedPath: string | null;
    readonly preview?: string;
  },
): string {
  const { references, savedPath, preview } = facts;
  const nextStep =
    preview === undefined
      ? "Use these references where a tool takes a path or an address."
      : advice(savedPath);
  return JSON.stringify({
    type: "tool_result_references",
    file_refs: references,
    original_chars: measureText(text.text).chars,
    next_step: nextStep,
    ...(preview === undefined ? { result: text.value } : { preview }),
    truncated: preview !== undefined,
  });
}

function previewOf(text: string, maxChars: number): Readonly<Record<string, unknown>> {
  const preview = prefixWithin(text, {
    chars: Math.min(maxChars, EVENT_PREVIEW_CHARS),
    bytes: Number.POSITIVE_INFINITY,
  });
  const { chars, bytes } = measureText(text);
  return {
    type: "tool_result_preview",
    truncated: true,
    reason: "tool_result_truncated",
    original_chars: chars,
    original_bytes: bytes,
    kept_preview_chars: measureText(preview).chars,
    preview,
  };
}
