/** The event streams that are open: bounded per tenant, and ended first when the service stops (stack §3). */
import { ServiceError } from "../domain/errors.js";

export class OpenStreams {
  readonly #limit: number;
  readonly #streams = new Map<AbortController, string>();

  /** @param limit streams of one tenant */
  constructor(limit: number) {
    this.#limit = limit;
  }

  get count(): number {
    return this.#streams.size;
  }

  /**
   * Counts a stream until it is disposed of.
   * @throws ServiceError `request.rate_limited` when the tenant has too many
   */
  open(tenant: string): Disposable & { readonly signal: AbortSignal } {
    const held = [...this.#streams.values()].filter((holder) => holder === tenant).length;
    if (held >= this.#limit)
      throw new ServiceError(
        "request.rate_limited",
        `A tenant may have ${this.#limit} open event streams; ${held} are open.`,
        { hint: "Close one, or ask for the run without a stream.", details: { retryAfterSec: 5 } },
      );
    const controller = new AbortController();
    this.#streams.set(controller, tenant);
    return {
      signal: controller.signal,
      [Symbol.dispose]: () => {
        this.#streams.delete(controller);
      },
    };
  }

  /** Ends every stream with an error event; clients resume after the restart (runs §9.4). */
  endAll(): void {
    const reason = new ServiceError("service.stopping", "The service is stopping.", {
      hint: "Connect again with the last event id; the run is kept.",
    });
    for (const controller of this.#streams.keys()) controller.abort(reason);
  }
}
