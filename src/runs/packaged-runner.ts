/** A runner of a package, behind the same port as those that ship: it runs in the package's own process (runs §1.8, §3). */
import type { RunnerResult } from "../domain/result.js";
import type { RunContext } from "../domain/run-context.js";
import type { RunnerDescriptor } from "../domain/runner-manifest.js";
import type { CallOptions } from "../ports/options.js";
import type { PluginPackages } from "../ports/plugin-packages.js";
import type { RunHost } from "../ports/run-host.js";
import type { Runner } from "../ports/runner.js";
import { findSchemaFaults } from "./check-runner-config.js";

/** Key of the template, and its default (box §2.1). */
const TEMPLATE_KEY = "box-session-id-template";
const DEFAULT_TEMPLATE = "{launcher_type}_{launcher_id}";

export class PackagedRunner implements Runner {
  readonly descriptor: RunnerDescriptor;
  /** `author/plugin`. */
  readonly packageId: string;
  readonly #packages: Pick<PluginPackages, "run">;

  constructor(packages: Pick<PluginPackages, "run">, descriptor: RunnerDescriptor) {
    this.#packages = packages;
    this.descriptor = descriptor;
    this.packageId = `${descriptor.plugin_author}/${descriptor.plugin_name}`;
  }

  findConfigFaults(config: Readonly<Record<string, unknown>>): readonly string[] {
    return findSchemaFaults(this.descriptor.config_schema, config);
  }

  /** A runner that may call no tool has no use for a box (box §4.5). */
  planBox(config: Readonly<Record<string, unknown>>): { readonly template: string } | null {
    const { capabilities, permissions } = this.descriptor;
    if (!capabilities.tool_calling || !permissions.tools.includes("call")) return null;
    if (config["box-enabled"] === false) return null;
    const written = [config[TEMPLATE_KEY], this.#declaredTemplate()];
    const template = written.find((value) => typeof value === "string");
    return { template: template ?? DEFAULT_TEMPLATE };
  }

  run(context: RunContext, host: RunHost, options: CallOptions): AsyncIterable<RunnerResult> {
    const { packageId, descriptor } = this;
    return this.#packages.run({ packageId, runnerName: descriptor.runner_name }, { context, host }, options);
  }

  #declaredTemplate(): unknown {
    return this.descriptor.config_schema.find(({ name }) => name === TEMPLATE_KEY)?.default;
  }
}
