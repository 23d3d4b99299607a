/** The helper as the engine's adapter takes it: which image holds it, and how a box is served by it. */
import type { BoxHelper, HelperGround, HelperSession } from "../../ports/box-helper.js";
import type { Clock } from "../../ports/clock.js";
import type { EgressBroker } from "../../ports/egress-broker.js";
import type { Logger } from "../../ports/logger.js";
import { BoxdSession } from "./boxd-session.js";

export interface BoxdHelperDeps {
  readonly image: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Carries what boxes with a network say; without one they are refused. */
  readonly broker?: EgressBroker | null | undefined;
}

export class BoxdHelper implements BoxHelper {
  readonly #deps: BoxdHelperDeps;

  constructor(deps: BoxdHelperDeps) {
    this.#deps = deps;
  }

  get image(): string {
    return this.#deps.image;
  }

  serve(ground: HelperGround): HelperSession {
    return new BoxdSession({ ...this.#deps, broker: this.#deps.broker ?? null, ground });
  }
}
