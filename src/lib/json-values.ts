/** Finds JSON objects that stand one after the other in a text, without repairing anything (local-agent §7.1, §12.2). */

export interface JsonObjects {
  /** Whole objects, as text, in order; their brackets match, which does not make each of them valid JSON. */
  readonly objects: readonly string[];
  /** What follows the last whole object, from its first visible character on. */
  readonly rest: string;
}

/** Splits a text that begins with objects; anything else is `rest` from there on. */
export function splitJsonObjects(text: string): JsonObjects {
  const objects: string[] = [];
  let start = 0;
  for (;;) {
    const rest = text.slice(start).trimStart();
    if (!rest.startsWith("{")) return { objects, rest };
    const begin = text.length - rest.length;
    const end = endOfValue(text, begin);
    if (end === null) return { objects, rest };
    objects.push(text.slice(begin, end));
    start = end;
  }
}

/** Whether the text stops inside an object, a list or a string: it was cut, not merely wrong. */
export function isCutJson(text: string): boolean {
  const trimmed = text.trimStart();
  return /^[{["]/.test(trimmed) && endOfValue(trimmed, 0) === null;
}

/** Follows a JSON text that arrives in pieces, by its brackets and quotes alone. */
export class JsonBalance {
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  #hasBegun = false;

  push(text: string): void {
    for (const character of text) {
      if (this.#isInString) this.#readString(character);
      else this.#readOutside(character);
    }
  }

  /** Whether everything that was opened has been closed again, and something was. */
  get isClosed(): boolean {
    return this.#hasBegun && this.#depth <= 0 && !this.#isInString;
  }

  #readString(character: string): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (character === "\\") this.#isEscaped = true;
    else if (character === '"') this.#isInString = false;
  }

  #readOutside(character: string): void {
    if (character === "}" || character === "]") this.#depth -= 1;
    else if (character === "{" || character === "[") this.#depth += 1;
    else if (character === '"') this.#isInString = true;
    else return;
    this.#hasBegun = true;
  }
}

/** @returns the index after the value that begins at `begin`, or null if the text ends before it does */
function endOfValue(text: string, begin: number): number | null {
  let depth = 0;
  for (let i = begin; i < text.length; i += 1) {
    const character = text[i];
    if (character === '"') {
      const end = endOfString(text, i);
      if (end === null) return null;
      i = end;
    } else if (character === "{" || character === "[") depth += 1;
    else if (character === "}" || character === "]") depth -= 1;
    if (depth <= 0) return i + 1;
  }
  return null;
}

/** @returns the index of the closing quote, or null */
function endOfString(text: string, begin: number): number | null {
  for (let i = begin + 1; i < text.length; i += 1) {
    if (text[i] === "\\") i += 1;
    else if (text[i] === '"') return i;
  }
  return null;
}
