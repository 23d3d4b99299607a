/** The runners there are, by canonical id and every alias (runs §1.6, §3). */
import { ServiceError } from "../domain/errors.js";
import { canonicalRunnerId } from "../domain/runner-id.js";
import type { Runner } from "../ports/runner.js";

export class RunnerRegistry {
  readonly #byId: ReadonlyMap<string, Runner>;

  constructor(runners: readonly Runner[]) {
    this.#byId = new Map(runners.map((runner) => [runner.descriptor.id, runner]));
  }

  /** @throws ServiceError `runner.not_found` with the text in it, whether or not it is a well-formed id (runs §1.3) */
  get(id: string): Runner {
    const runner = this.#byId.get(canonicalRunnerId(id));
    if (runner !== undefined) return runner;
    throw new ServiceError("runner.not_found", `There is no runner "${id.slice(0, 200)}".`, {
      hint: `Use one of: ${[...this.#byId.keys()].join(", ")}.`,
    });
  }
}
