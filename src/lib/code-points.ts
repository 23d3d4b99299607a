/** Measures and cuts text by Unicode code points and UTF-8 bytes; a cut never splits a character. */

/** How much text may be kept: both limits hold at once. */
export interface TextLimits {
  /** Unicode code points. */
  readonly chars: number;
  /** Bytes of the UTF-8 form. */
  readonly bytes: number;
}

export interface TextSize {
  readonly chars: number;
  readonly bytes: number;
}

export function measureText(text: string): TextSize {
  const bytes = Buffer.byteLength(text);
  // Equal lengths mean that every character is ASCII, which spares the walk over large outputs.
  return { bytes, chars: bytes === text.length ? bytes : text.length - countPairs(text) };
}

/** Whether the text has a UTF-8 form: no half of a surrogate pair stands alone in it. */
export function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}

/** The longest beginning of the text within both limits. */
export function prefixWithin(text: string, limits: TextLimits): string {
  let end = 0;
  let [chars, bytes] = [0, 0];
  while (end < text.length) {
    const width = widthAt(text, end);
    bytes += byteCount(text, end);
    chars += 1;
    if (chars > limits.chars || bytes > limits.bytes) break;
    end += width;
  }
  return text.slice(0, end);
}

/** The longest end of the text within both limits. */
export function suffixWithin(text: string, limits: TextLimits): string {
  let start = text.length;
  let [chars, bytes] = [0, 0];
  while (start > 0) {
    const width = start > 1 && widthAt(text, start - 2) === 2 ? 2 : 1;
    bytes += byteCount(text, start - width);
    chars += 1;
    if (chars > limits.chars || bytes > limits.bytes) break;
    start -= width;
  }
  return text.slice(start);
}

function countPairs(text: string): number {
  let pairs = 0;
  for (let i = 0; i < text.length; i += 1) {
    if (!isHigh(text.charCodeAt(i)) || !isLow(text.charCodeAt(i + 1))) continue;
    pairs += 1;
    i += 1;
  }
  return pairs;
}

/** Code units of the character at `index`: two for a surrogate pair, else one. */
function widthAt(text: string, index: number): 1 | 2 {
  return isHigh(text.charCodeAt(index)) && isLow(text.charCodeAt(index + 1)) ? 2 : 1;
}

/** UTF-8 bytes of the character at `index`; a lone surrogate becomes a replacement mark of three. */
function byteCount(text: string, index: number): number {
  if (widthAt(text, index) === 2) return 4;
  const unit = text.charCodeAt(index);
  if (unit < 0x80) return 1;
  return unit < 0x800 ? 2 : 3;
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
