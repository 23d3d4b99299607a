/** The tools of packages of others, as a source: the id of each tool's source is its package (runs §3, §15.2). */

import { toServiceError } from "../domain/errors.js";
import { takeForeignTools } from "../domain/foreign-tools.js";
import { sanitiseText } from "../lib/sanitise-text.js";
import type { CallOptions } from "../ports/options.js";
import type { PluginPackage, PluginPackages } from "../ports/plugin-packages.js";
import type { ToolEvent } from "../ports/tool.js";
import type { RunToolBox, SourcedCall, ToolListing, ToolScope, ToolSource } from "../ports/tool-source.js";

type Packages = Pick<PluginPackages, "list" | "callTool" | "generation">;

export class PluginToolSource implements ToolSource {
  readonly source = "plugin";
  readonly sourceId = null;
  readonly reservedNames = [];
  readonly #packages: Packages;
  #known: { readonly generation: number; readonly packages: readonly PluginPackage[] } | null = null;

  constructor(packages: Packages) {
    this.#packages = packages;
  }

  async list({ allowedPackages, wants }: ToolScope, options: CallOptions): Promise<ToolListing> {
    const packages = await this.#list(options);
    const listings = packages
      .filter(({ id }) => allowedPackages === null || allowedPackages.includes(id))
      .map(({ id, tools }) => ({ source: "plugin", source_id: id, effect: { kind: "none" }, tools }) as const)
      .filter((from) => from.tools.length > 0 && wants(from))
      .map((from) => takeForeignTools(from.tools, from));
    return {
      tools: listings.flatMap(({ tools }) => tools),
      warnings: listings.flatMap(({ warnings }) => warnings),
    };
  }

  /** Read once for each generation; an empty list is not trusted (runs §3.4). */
  async #list(options: CallOptions): Promise<readonly PluginPackage[]> {
    const { generation } = this.#packages;
    if (this.#known !== null && this.#known.generation === generation) return this.#known.packages;
    const packages = await this.#packages.list(options);
    this.#known = packages.length === 0 ? null : { generation, packages };
    return packages;
  }

  async *run(
    { resource, input }: SourcedCall,
    _box: RunToolBox | null,
    options: CallOptions,
  ): AsyncGenerator<ToolEvent, void> {
    const tool = { packageId: resource.source_id, name: resource.tool_name };
    try {
      const outcome = await this.#packages.callTool(tool, input, options);
      yield {
        type: "outcome",
        outcome: outcome.ok ? outcome : { ...outcome, error: sanitiseText(outcome.error) },
      };
    } catch (error) {
      options.signal.throwIfAborted();
      yield { type: "outcome", outcome: { ok: false, error: toServiceError(error).message } };
    }
  }
}
