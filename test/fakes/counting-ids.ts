/** Ids that count, so that tests can name them. */
import type { Id, IdPrefix } from "../../src/domain/ids.js";
import type { IdSource } from "../../src/ports/id-source.js";

export class CountingIds implements IdSource {
  #count = 0;

  create<Prefix extends IdPrefix>(prefix: Prefix): Id<Prefix> {
    this.#count += 1;
    return `${prefix}_${this.#count}`;
  }

  randomHex(digits: number): string {
    this.#count += 1;
    return this.#count.toString(16).padStart(digits, "0").slice(-digits);
  }
}
