/** Finds tool calls that a model writes as text, `<tool_call>{…}</tool_call>` (local-agent §11.9). Pure. */
import { z } from "zod";
import { isCutJson } from "../../lib/json-values.js";
import type { AssembledCall } from "./assemble-calls.js";

const OPEN = "<tool_call>";
const CLOSE = "</tool_call>";
const FENCE = /^ {0,3}(```|~~~)/;
/** Longer line beginnings cannot open a fence. */
const FENCE_CHARS = 6;

const markedCallSchema = z.object({
  name: z.string(),
  arguments: z.unknown().optional(),
  parameters: z.unknown().optional(),
});

/** Reads answer text (no thinking) in pieces and takes the calls of offered tools out of it. */
export class TextualCallFilter {
  readonly #offered: ReadonlySet<string>;
  readonly #calls: AssembledCall[] = [];
  /** What may be, or is, the markup of a call. */
  #held = "";
  #isInCall = false;
  /** How much of the closing tag stands at the end of a call's markup. */
  #closing = 0;
  #lineStart = "";
  #fence: string | null = null;

  constructor(offered: ReadonlySet<string>) {
    this.#offered = offered;
  }

  get calls(): readonly AssembledCall[] {
    return this.#calls;
  }

  /** @returns the text that is no markup of a call */
  push(text: string): string {
    if (this.#offered.size === 0) return text;
    let shown = "";
    for (const character of text)
      shown += this.#isInCall ? this.#readCall(character) : this.#readText(character);
    return shown;
  }

  /** @returns text that was held back; a call that was not closed is a call with cut arguments */
  end(): string {
    const held = this.#held;
    this.#held = "";
    if (!this.#isInCall) return held;
    this.#isInCall = false;
    this.#closing = 0;
    return this.#takeCall(held.slice(OPEN.length)) ? "" : held;
  }

  #readText(character: string): string {
    const candidate = this.#held + character;
    if (this.#fence === null && OPEN.startsWith(candidate)) {
      this.#held = candidate;
      this.#isInCall = candidate === OPEN;
      return "";
    }
    const released = this.#held;
    this.#held = "";
    for (const earlier of released) this.#trackFence(earlier);
    if (released !== "" && OPEN.startsWith(character)) return released + this.#readText(character);
    this.#trackFence(character);
    return released + character;
  }

  #readCall(character: string): string {
    this.#held += character;
    if (character === CLOSE[this.#closing]) this.#closing += 1;
    else this.#closing = character === CLOSE[0] ? 1 : 0;
    if (this.#closing < CLOSE.length) return "";
    const markup = this.#held;
    this.#held = "";
    this.#isInCall = false;
    this.#closing = 0;
    return this.#takeCall(markup.slice(OPEN.length, -CLOSE.length)) ? "" : markup;
  }

  #trackFence(character: string): void {
    if (character === "\n") {
      this.#lineStart = "";
      return;
    }
    if (this.#lineStart.length >= FENCE_CHARS) return;
    this.#lineStart += character;
    const mark = FENCE.exec(this.#lineStart)?.[1];
    if (mark === undefined) return;
    if (this.#fence === null) this.#fence = mark;
    else if (this.#fence === mark) this.#fence = null;
    // The rest of this line cannot turn the fence once more.
    this.#lineStart = " ".repeat(FENCE_CHARS);
  }

  /** @returns whether the text is a call of an offered tool */
  #takeCall(text: string): boolean {
    const call = readCall(text);
    if (call === null || !this.#offered.has(call.name)) return false;
    this.#calls.push(call);
    return true;
  }
}

function readCall(text: string): AssembledCall | null {
  const parsed = markedCallSchema.safeParse(parseJson(text));
  if (!parsed.success) return readBrokenCall(text);
  const given = parsed.data.arguments ?? parsed.data.parameters ?? {};
  const argumentsText = typeof given === "string" ? given : JSON.stringify(given);
  return { id: null, name: parsed.data.name, argumentsText, extra: {} };
}

/** A call whose JSON is cut or wrong still names its tool; its arguments stay as broken as they came. */
function readBrokenCall(text: string): AssembledCall | null {
  const name = /"name"\s*:\s*"([^"\\]+)"/.exec(text)?.[1];
  if (name === undefined) return null;
  const begun = /"(?:arguments|parameters)"\s*:\s*([^]*)$/.exec(text)?.[1] ?? "";
  return { id: null, name, argumentsText: isCutJson(text) && begun === "" ? "{" : begun, extra: {} };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
