/** Ids from the system's random numbers. */
import { randomBytes } from "node:crypto";
import type { Id, IdPrefix } from "../../domain/ids.js";
import type { IdSource } from "../../ports/id-source.js";

/** 128 bits: no two ids are ever equal, and nobody guesses one (api §1.2). */
const ID_BYTES = 16;

export class RandomIdSource implements IdSource {
  create<Prefix extends IdPrefix>(prefix: Prefix): Id<Prefix> {
    return `${prefix}_${randomBytes(ID_BYTES).toString("hex")}`;
  }

  randomHex(digits: number): string {
    return randomBytes(Math.ceil(digits / 2))
      .toString("hex")
      .slice(0, digits);
  }
}
