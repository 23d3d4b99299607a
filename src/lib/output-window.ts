/** A bounded view of text of any size: its beginning and its end, with a line between that counts what is missing. */
import { measureText, prefixWithin, suffixWithin, type TextLimits } from "./code-points.js";
import { Utf8Text } from "./utf8-text.js";

/** Share of the room that the beginning gets; the end gets the rest (box §12.5). */
const HEAD_SHARE = 0.6;

/** What a marker may tell. */
export interface Missing {
  /** Characters left out. */
  readonly chars: number;
  readonly totalChars: number;
}

export interface WindowedText {
  /** Never above the limits, marker included. */
  readonly text: string;
  /** The limit that struck; null = the text is whole. */
  readonly truncatedBy: "chars" | "bytes" | null;
  readonly totalChars: number;
}

/** Writes the line between; it must not grow when `chars` shrinks. */
export type Marker = (missing: Missing) => string;

/** Takes text in pieces and keeps as much as the limits need: memory does not grow with the text. */
export class TextWindow {
  readonly #limits: TextLimits;
  readonly #tailLimits: TextLimits;
  #head = "";
  #headIsFull = false;
  #tail = "";
  #chars = 0;
  #bytes = 0;

  constructor(limits: TextLimits) {
    this.#limits = limits;
    this.#tailLimits = tailPart(limits);
  }

  /** Whether the text so far is longer than the window. */
  get isCut(): boolean {
    return this.#chars > this.#limits.chars || this.#bytes > this.#limits.bytes;
  }

  push(text: string): void {
    this.#pushHead(text);
    this.#pushTail(text);
    const size = measureText(text);
    this.#chars += size.chars;
    this.#bytes += size.bytes;
  }

  finish(marker: Marker): WindowedText {
    const totalChars = this.#chars;
    if (!this.isCut) return { text: this.#head, truncatedBy: null, totalChars };
    const truncatedBy = this.#chars > this.#limits.chars ? "chars" : "bytes";
    const longest = measureText(marker({ chars: totalChars, totalChars }));
    const room = { chars: this.#limits.chars - longest.chars, bytes: this.#limits.bytes - longest.bytes };
    if (room.chars < 0 || room.bytes < 0) return { text: this.#head, truncatedBy, totalChars };
    const head = prefixWithin(this.#head, headPart(room));
    const tail = suffixWithin(this.#tail, tailPart(room));
    const chars = totalChars - measureText(head).chars - measureText(tail).chars;
    return { text: `${head}${marker({ chars, totalChars })}${tail}`, truncatedBy, totalChars };
  }

  #pushHead(text: string): void {
    if (this.#headIsFull) return;
    const room = { chars: this.#limits.chars - this.#chars, bytes: this.#limits.bytes - this.#bytes };
    const kept = prefixWithin(text, room);
    this.#head += kept;
    this.#headIsFull = kept.length < text.length;
  }

  #pushTail(text: string): void {
    this.#tail += text.length > 2 * this.#limits.chars ? suffixWithin(text, this.#tailLimits) : text;
    if (this.#tail.length > 4 * this.#limits.chars) this.#tail = suffixWithin(this.#tail, this.#tailLimits);
  }
}

/** A `TextWindow` over bytes: decodes UTF-8 that may be split anywhere, and counts what came in. */
export class OutputWindow {
  readonly #window: TextWindow;
  readonly #text = new Utf8Text();
  #bytes = 0;

  constructor(limits: TextLimits) {
    this.#window = new TextWindow(limits);
  }

  get isCut(): boolean {
    return this.#window.isCut;
  }

  /** Bytes that came in. */
  get sizeBytes(): number {
    return this.#bytes;
  }

  /** False once bytes that are no UTF-8 became replacement marks. */
  get isUtf8(): boolean {
    return this.#text.isValid;
  }

  push(bytes: Uint8Array): void {
    this.#bytes += bytes.length;
    this.#window.push(this.#text.push(bytes));
  }

  /** Ends the input; `finish` follows. */
  end(): void {
    this.#window.push(this.#text.end());
  }

  finish(marker: Marker): WindowedText {
    return this.#window.finish(marker);
  }
}

/** The same for a text that is there already. */
export function windowText(text: string, limits: TextLimits, marker: Marker): WindowedText {
  const window = new TextWindow(limits);
  window.push(text);
  return window.finish(marker);
}

function headPart(limits: TextLimits): TextLimits {
  return { chars: Math.floor(limits.chars * HEAD_SHARE), bytes: Math.floor(limits.bytes * HEAD_SHARE) };
}

function tailPart(limits: TextLimits): TextLimits {
  const head = headPart(limits);
  return { chars: limits.chars - head.chars, bytes: limits.bytes - head.bytes };
}
