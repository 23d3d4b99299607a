/** All sources of tools behind one list; a source that fails or hangs costs its own tools and a warning (runs §15.2). */
import { ServiceError } from "../domain/errors.js";
import type { RunWarning } from "../domain/result.js";
import type { ToolSourceRef } from "../domain/tool.js";
import { leaveOnAbort } from "../lib/leave-on-abort.js";
import { linkSignals } from "../lib/link-signals.js";
import { TimeLimit } from "../lib/time-limit.js";
import type { Logger } from "../ports/logger.js";
import type { CallOptions } from "../ports/options.js";
import type { ToolListing, ToolScope, ToolSource } from "../ports/tool-source.js";

/** Milliseconds that a run waits for the list of one source. */
const LIST_MS = 15_000;

export interface ToolCatalogDeps {
  readonly sources: readonly ToolSource[];
  readonly logger: Logger;
  readonly listMs?: number | undefined;
}

export class ToolCatalog {
  /** Names of the service's own tools, which no other source can take (runs §15.5). */
  readonly hostNames: ReadonlySet<string>;
  readonly #deps: ToolCatalogDeps;

  constructor(deps: ToolCatalogDeps) {
    this.#deps = deps;
    this.hostNames = new Set(deps.sources.flatMap(({ reservedNames }) => reservedNames));
  }

  /** Tools of all sources that the scope wants, in the order of the sources. @throws only the caller's own abort */
  async list(scope: ToolScope, options: CallOptions): Promise<ToolListing> {
    const asked = this.#deps.sources.filter(({ source, sourceId }) =>
      scope.wants({ source, source_id: sourceId }),
    );
    const listings = await Promise.all(asked.map((source) => this.#listOne(source, scope, options)));
    return {
      tools: listings.flatMap(({ tools }) => tools),
      warnings: listings.flatMap(({ warnings }) => warnings),
    };
  }

  /** The source that a frozen tool is called in; null when it is not there any more. */
  find(ref: ToolSourceRef): ToolSource | null {
    const found = this.#deps.sources.find(
      ({ source, sourceId }) => source === ref.source && (sourceId === null || sourceId === ref.source_id),
    );
    return found ?? null;
  }

  async #listOne(source: ToolSource, scope: ToolScope, options: CallOptions): Promise<ToolListing> {
    const listMs = this.#deps.listMs ?? LIST_MS;
    using limit = new TimeLimit(
      () => new ServiceError("host.deadline_exceeded", `It gave no list within ${listMs / 1000} s.`),
    );
    limit.restart(listMs);
    using linked = linkSignals(options.signal, limit.signal);
    try {
      return await leaveOnAbort(source.list(scope, linked), linked);
    } catch (error) {
      options.signal.throwIfAborted();
      return { tools: [], warnings: [this.#warn(source, error)] };
    }
  }

  #warn({ source, sourceId }: ToolSource, error: unknown): RunWarning {
    const name = sourceId === null ? source : `${source} "${sourceId}"`;
    this.#deps.logger.warn({ reason: name }, "The tools of a source could not be listed.", error);
    const reason = error instanceof ServiceError ? error.message : "it failed in an unexpected way.";
    return { code: "tools.source_failed", message: `The tools of ${name} are missing: ${reason}` };
  }
}
