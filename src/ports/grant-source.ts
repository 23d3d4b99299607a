/** The operator's control plane, asked for one grant (box §16.3). */
import type { GrantAnswer, GrantName } from "../domain/grant.js";
import type { CallOptions } from "./options.js";

export interface GrantSource {
  /**
   * The grant as the control plane has it at this moment; what it says is not judged here.
   * @throws ServiceError `outbound.failed` when no answer of the right form comes
   */
  ask(name: GrantName, options: CallOptions): Promise<GrantAnswer>;
}
