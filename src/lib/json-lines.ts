/** JSON values from bytes, one on a line, none that costs too much to read. */
import { JsonCost, type JsonLimits } from "./json-cost.js";
import { LineCutter } from "./line-cutter.js";

export interface JsonLineLimits extends JsonLimits {
  /** Of one line. */
  readonly maxBytes: number;
}

export class JsonLines {
  readonly #cutter: LineCutter;
  readonly #cost: JsonCost;

  constructor(limits: JsonLineLimits) {
    this.#cutter = new LineCutter(limits.maxBytes);
    this.#cost = new JsonCost(limits);
  }

  /**
   * @returns the values of the lines that this piece completes
   * @throws RangeError for a line above the limits, SyntaxError for one that is no JSON
   */
  *push(piece: Uint8Array): Generator<unknown, void> {
    for (const line of this.#cutter.push(piece)) {
      this.#cost.reset();
      this.#cost.addAll(line);
      yield JSON.parse(line.toString("utf8"));
    }
  }
}
