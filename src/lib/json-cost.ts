/** Counts values and levels of a JSON text before anybody reads it: small values take a hundred times longer than long ones. */

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPENING: ReadonlySet<number> = new Set([0x5b, 0x7b]);
const CLOSING: ReadonlySet<number> = new Set([0x5d, 0x7d]);

export interface JsonLimits {
  readonly maxValues: number;
  /** Levels of objects and lists. */
  readonly maxDepth: number;
}

export class JsonCost {
  readonly #limits: JsonLimits;
  #values = 1;
  #depth = 0;
  #isText = false;
  #isEscaped = false;

  constructor(limits: JsonLimits) {
    this.#limits = limits;
  }

  /** The next byte of the text. @throws RangeError that names the limit which was passed */
  add(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === QUOTE) this.#isText = !this.#isText;
    else if (this.#isText) this.#isEscaped = byte === BACKSLASH;
    else if (byte === COMMA) this.#count(0);
    else if (OPENING.has(byte)) this.#count(1);
    else if (CLOSING.has(byte)) this.#depth -= 1;
  }

  /** The next bytes of the text. @throws RangeError that names the limit which was passed */
  addAll(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at += 1) this.add(bytes[at] ?? 0);
  }

  /** Another text begins. */
  reset(): void {
    this.#values = 1;
    this.#depth = 0;
    this.#isText = false;
    this.#isEscaped = false;
  }

  #count(levels: number): void {
    const { maxValues, maxDepth } = this.#limits;
    this.#values += 1;
    this.#depth += levels;
    if (this.#values > maxValues) throw new RangeError(`JSON may hold ${maxValues} values; more came.`);
    if (this.#depth > maxDepth)
      throw new RangeError(`JSON may be nested ${maxDepth} levels deep; more came.`);
  }
}
