/** Counts equal calls with equal results from round to round (local-agent §8). Pure. */
import { isObject } from "./parse-arguments.js";

/** The third equal call in a row is warned of, after the fifth the run ends (§8.2). */
export const WARN_AT = 3;
export const END_AT = 5;

/** What does not make two results different: durations, times, generated ids (§8.1). */
const VOLATILE: readonly RegExp[] = [
  /\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?/g,
  /\b\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?\b/g,
  /"(?:\w*_)?(?:duration|elapsed|took|started_at|ended_at|created_at|timestamp|time)(?:_\w+)?"\s*:\s*(?:"[^"]*"|[\d.]+)/g,
  /\b\d+(?:\.\d+)?\s?(?:ns|µs|us|ms|s|sec|secs|second|seconds|minutes?)\b/g,
  /\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b/gi,
  /\b(?:call|run|ses|file|job|evt|req)_[A-Za-z0-9_-]+/g,
  /\b(?=\w*\d)[0-9a-f]{12,}\b/gi,
  /\b1[5-9]\d{8}(?:\d{3}|\d{6})?(?:\.\d+)?\b/g,
];

export class LoopGuard {
  readonly #counts: ReadonlyMap<string, number>;

  constructor(counts: ReadonlyMap<string, number> = new Map()) {
    this.#counts = counts;
  }

  /** How many rounds in a row this call has come with this result, the current one included. */
  countOf(key: string): number {
    return (this.#counts.get(key) ?? 0) + 1;
  }

  /** The guard after a round; equal calls of one batch count once. */
  after(keys: readonly string[]): LoopGuard {
    return new LoopGuard(new Map(keys.map((key) => [key, this.countOf(key)])));
  }

  get isExhausted(): boolean {
    return [...this.#counts.values()].some((count) => count >= END_AT);
  }
}

export function callKey(call: {
  readonly name: string;
  /** As the model sent them. */
  readonly argumentsText: string;
  readonly modelText: string;
}): string {
  return JSON.stringify([call.name, canonicalArguments(call.argumentsText), withoutVolatile(call.modelText)]);
}

export function warningText(count: number): string {
  return `[warning: this call has given the same result ${count} times in a row. After ${END_AT} times the run ends. Try something else, or answer with what you have.]`;
}

function withoutVolatile(text: string): string {
  return VOLATILE.reduce((rest, pattern) => rest.replaceAll(pattern, "~"), text);
}

function canonicalArguments(text: string): string {
  try {
    return JSON.stringify(sortKeys(JSON.parse(text)));
  } catch {
    return text.trim();
  }
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([name, field]) => [name, sortKeys(field)]));
}
