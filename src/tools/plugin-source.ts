/** The tools of packages of others, as a source: the id of each tool's source is its package (runs §3, §15.2). */

import { toServiceError } from "../domain/errors.js";
import { takeForeignTools } from "../domain/foreign-tools.js";
import type { CallOptions } from "../ports/options.js";
import type { PluginPackages } from "../ports/plugin-packages.js";
import type { ToolEvent } from "../ports/tool.js";
import type { RunToolBox, SourcedCall, ToolListing, ToolScope, ToolSource } from "../ports/tool-source.js";

export class PluginToolSource implements ToolSource {
  readonly source = "plugin";
  readonly sourceId = null;
  readonly reservedNames = [];
  readonly #packages: Pick<PluginPackages, "list" | "callTool">;

  constructor(packages: Pick<PluginPackages, "list" | "callTool">) {
    this.#packages = packages;
  }

  async list({ allowedPackages, wants }: ToolScope, options: CallOptions): Promise<ToolListing> {
    const packages = await this.#packages.list(options);
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

  async *run(
    { resource, input }: SourcedCall,
    _box: RunToolBox | null,
    options: CallOptions,
  ): AsyncGenerator<ToolEvent, void> {
    const tool = { packageId: resource.source_id, name: resource.tool_name };
    try {
      yield { type: "outcome", outcome: await this.#packages.callTool(tool, input, options) };
    } catch (error) {
      options.signal.throwIfAborted();
      yield { type: "outcome", outcome: { ok: false, error: toServiceError(error).message } };
    }
  }
}
