/** One life of a container, from its start to its end: another one that began since is not meant. */
import type { CallOptions } from "../../ports/options.js";
import type { EngineCalls } from "./engine-calls.js";

/** Work that ends what a caller left goes on after that one gave up; the limits of the single calls end it. */
export function unhurried(): CallOptions {
  return { signal: new AbortController().signal };
}

export interface ContainerLifeDeps {
  readonly calls: EngineCalls;
  readonly container: string;
  /** When it began, as the engine says it. */
  readonly startedAt: string;
}

export class ContainerLife {
  readonly #deps: ContainerLifeDeps;
  #startedAt: string;

  constructor(deps: ContainerLifeDeps) {
    this.#deps = deps;
    this.#startedAt = deps.startedAt;
  }

  get startedAt(): string {
    return this.#startedAt;
  }

  /** @returns null when there is no such container, or another life of it */
  async status(options: CallOptions): Promise<string | null> {
    const view = await this.#deps.calls.inspectContainer(this.#deps.container, options);
    return view?.State.StartedAt === this.#startedAt ? view.State.Status : null;
  }

  /** One that somebody has paused lives, and goes on: whoever asks needs it (box §11.4). */
  async goesOn(): Promise<boolean> {
    const { calls, container } = this.#deps;
    const status = await this.status(unhurried());
    if (status === "paused") await calls.unpauseContainer(container, unhurried());
    return status === "paused" || status === "running";
  }

  /** Ends it and begins another one. @returns false when it has ended by itself, is gone or going */
  async beginAnew(): Promise<boolean> {
    const { calls, container } = this.#deps;
    const options = unhurried();
    if ((await calls.killContainer(container, options)) !== "done") return false;
    if ((await calls.startContainer(container, options)) === "gone") return false;
    const view = await calls.inspectContainer(container, options);
    if (view !== null) this.#startedAt = view.State.StartedAt;
    return true;
  }
}
