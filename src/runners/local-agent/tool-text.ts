/** What a model reads of a tool's outcome, before any limit (local-agent §9.1). Pure. */
import type { ToolOutcome } from "../../domain/tool.js";
import { isObject } from "./parse-arguments.js";

export const ERROR_PREFIX = "Error: ";

export interface ToolText {
  readonly text: string;
  readonly isError: boolean;
  /** The result that the text stands for, without the key `terminate`; undefined when there is none. */
  readonly value: unknown;
  /** The tool asked to end the run (§6.7). */
  readonly terminate: boolean;
}

export function toToolText(outcome: ToolOutcome): ToolText {
  if (outcome.ok) {
    const value = withoutTerminate(outcome.result);
    const terminate = isObject(outcome.result) && outcome.result["terminate"] === true;
    return { text: renderValue(value), isError: false, value, terminate };
  }
  const { error, result } = outcome;
  const detail = result === undefined ? "" : `\n${renderValue(result)}`;
  return { text: `${ERROR_PREFIX}${error}${detail}`, isError: true, value: result, terminate: false };
}

function withoutTerminate(result: unknown): unknown {
  if (!isObject(result) || !("terminate" in result)) return result;
  const { terminate: _, ...rest } = result;
  return rest;
}

function renderValue(value: unknown): string {
  if (typeof value === "string") return value;
  const lines = Array.isArray(value) && value.length > 0 ? value.map(renderElement) : [null];
  if (lines.every((line) => line !== null)) return lines.join("\n");
  return JSON.stringify(value ?? null);
}

/** @returns the line of a text or image element, null for anything else */
function renderElement(element: unknown): string | null {
  if (typeof element === "string") return element;
  if (!isObject(element)) return null;
  if (element["type"] === "text" && typeof element["text"] === "string") return element["text"];
  if (element["type"] !== "image") return null;
  const type = element["mimeType"] ?? element["mime_type"];
  return `[image not shown${typeof type === "string" ? `: ${type.slice(0, 100)}` : ""}]`;
}
