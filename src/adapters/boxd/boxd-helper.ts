/** The helper as the engine's adapter takes it: which image holds it, and how a box is served by it. */
import type { BoxHelper, HelperGround, HelperSession } from "../../ports/box-helper.js";
import type { Clock } from "../../ports/clock.js";
import type { Logger } from "../../ports/logger.js";
import { BoxdSession } from "./boxd-session.js";

export interface BoxdHelperDeps {
  readonly image: string;
  readonly clock: Clock;
  readonly logger: Logger;
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
    return new BoxdSession({ ...this.#deps, ground });
  }
}
