/** Makes ids that never repeat, across restarts too: prefix plus at least 128 random bits (api §1.2, runs §7.7). */
import type { Id, IdPrefix } from "../domain/ids.js";

export interface IdSource {
  create<Prefix extends IdPrefix>(prefix: Prefix): Id<Prefix>;
  /** Lower-case hex digits, e.g. for call ids and staging names. */
  randomHex(digits: number): string;
}
