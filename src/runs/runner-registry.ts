/**
 * The runners there are: those that ship, and those of packages, which are discovered and cached (runs §1.6, §3).
 * The cache holds the whole set of a tenant and a generation; what a bot may use is decided when it is read.
 */
import { ServiceError } from "../domain/errors.js";
import { canonicalRunnerId } from "../domain/runner-id.js";
import { linkSignals } from "../lib/link-signals.js";
import { SingleFlight } from "../lib/single-flight.js";
import { TimeLimit } from "../lib/time-limit.js";
import type { Logger } from "../ports/logger.js";
import type { CallOptions } from "../ports/options.js";
import type { PluginPackage, PluginPackages } from "../ports/plugin-packages.js";
import type { Runner } from "../ports/runner.js";
import { discoverRunners } from "./discover-runners.js";
import { PackagedRunner } from "./packaged-runner.js";

/** Milliseconds that packages have to say what they declare. */
const LIST_MS = 10_000;

export interface RegistryDeps {
  /** What ships with the service. */
  readonly bundled: readonly Runner[];
  /** Null = packages are switched off. */
  readonly packages: PluginPackages | null;
  readonly logger: Logger;
}

/** Who asks. */
export interface RunnerScope {
  readonly tenant: string;
  /** Packages (`author/plugin`) that the bot may use; null = every one. What ships is no package. */
  readonly allowedPackages: readonly string[] | null;
}

type PackagedRunners = ReadonlyMap<string, PackagedRunner>;

/** What one list came to. */
interface FoundPackages {
  readonly packages: readonly PluginPackage[];
  readonly runners: PackagedRunners;
}

const NOTHING: FoundPackages = { packages: [], runners: new Map() };

export class RunnerRegistry {
  readonly #deps: RegistryDeps;
  readonly #bundled: ReadonlyMap<string, Runner>;
  readonly #cache = new Map<string, FoundPackages & { readonly generation: number }>();
  readonly #loads = new SingleFlight<string, FoundPackages>();

  constructor(deps: RegistryDeps) {
    this.#deps = deps;
    this.#bundled = new Map(deps.bundled.map((runner) => [runner.descriptor.id, runner]));
  }

  /**
   * A miss asks the packages once more, then it is one.
   * @throws ServiceError `runner.not_found` with the text in it, whether or not it is a well-formed id (runs §1.3);
   * `runner.not_authorized` for a runner whose package is not allowed (runs §3.6)
   */
  async get(id: string, scope: RunnerScope, options: CallOptions): Promise<Runner> {
    const known = canonicalRunnerId(id);
    const shipped = this.#bundled.get(known);
    if (shipped !== undefined) return shipped;
    const cached = this.#cached(scope.tenant)?.runners.get(known);
    const runner = cached ?? (await this.#load(scope.tenant, options)).runners.get(known);
    if (runner === undefined) throw this.#notFound(id, scope);
    if (isAllowed(runner, scope)) return runner;
    throw notAuthorized(runner, scope);
  }

  /** What the bot may use: what ships, then packages. */
  async list(scope: RunnerScope, options: CallOptions): Promise<readonly Runner[]> {
    const cached = this.#cached(scope.tenant)?.runners ?? NOTHING.runners;
    const runners = cached.size > 0 ? cached : (await this.#load(scope.tenant, options)).runners;
    return this.#inScope(runners, scope);
  }

  /** The packages themselves, as far as the bot may use them; none where they cannot be listed. */
  async listPackages(scope: RunnerScope, options: CallOptions): Promise<readonly PluginPackage[]> {
    const { packages } = this.#cached(scope.tenant) ?? (await this.#load(scope.tenant, options));
    return packages.filter(({ id }) => isAllowed({ packageId: id }, scope));
  }

  /** As `list`, but asks the packages themselves (runs §4.1). */
  async listUncached(scope: RunnerScope, options: CallOptions): Promise<readonly Runner[]> {
    return this.#inScope((await this.#load(scope.tenant, options)).runners, scope);
  }

  #inScope(runners: PackagedRunners, scope: RunnerScope): readonly Runner[] {
    const allowed = [...runners.values()].filter((runner) => isAllowed(runner, scope));
    return [...this.#bundled.values(), ...allowed];
  }

  /** An empty set is not kept, so it is never trusted. */
  #cached(tenant: string): FoundPackages | null {
    const { packages } = this.#deps;
    const entry = this.#cache.get(tenant);
    return entry !== undefined && entry.generation === packages?.generation ? entry : null;
  }

  /** A list that fails is an empty one: whoever asks goes on with what ships (runs §3.3). */
  async #load(tenant: string, options: CallOptions): Promise<FoundPackages> {
    const { packages } = this.#deps;
    if (packages === null) return NOTHING;
    const { generation } = packages;
    const found = await this.#loads.run(
      JSON.stringify([tenant, generation]),
      (signal) => this.#ask(packages, signal),
      options,
    );
    if (found.packages.length > 0) this.#cache.set(tenant, { generation, ...found });
    else this.#cache.delete(tenant);
    return found;
  }

  async #ask(packages: PluginPackages, signal: AbortSignal): Promise<FoundPackages> {
    try {
      using limit = new TimeLimit(() => new ServiceError("runner.timeout", `No list came in ${LIST_MS} ms.`));
      limit.restart(LIST_MS);
      using linked = linkSignals(signal, limit.signal);
      const listed = await packages.list({ signal: linked.signal });
      const { descriptors, refused } = discoverRunners(listed, new Set(this.#bundled.keys()));
      for (const { packageId, reason } of refused)
        this.#deps.logger.warn({ package: packageId, reason }, "A runner of a package is left out.");
      const runners = descriptors.map((descriptor) => new PackagedRunner(packages, descriptor));
      return {
        packages: listed,
        runners: new Map(runners.map((runner) => [runner.descriptor.id, runner])),
      };
    } catch (error) {
      this.#deps.logger.warn(
        {},
        "Packages could not be listed: only the runners that ship are there.",
        error,
      );
      return NOTHING;
    }
  }

  #notFound(id: string, scope: RunnerScope): ServiceError {
    const runners = this.#inScope((this.#cached(scope.tenant) ?? NOTHING).runners, scope);
    const text = id.slice(0, 200);
    return new ServiceError(
      "runner.not_found",
      `The configured runner is missing: there is no runner "${text}".`,
      {
        hint: `Use one of: ${runners.map(({ descriptor }) => descriptor.id).join(", ")}.`,
        details: { runner_id: text },
      },
    );
  }
}

function isAllowed(
  { packageId }: Pick<PackagedRunner, "packageId">,
  { allowedPackages }: RunnerScope,
): boolean {
  return allowedPackages?.includes(packageId) ?? true;
}

function notAuthorized({ descriptor, packageId }: PackagedRunner, scope: RunnerScope): ServiceError {
  const allowed = scope.allowedPackages ?? [];
  return new ServiceError(
    "runner.not_authorized",
    `The runner "${descriptor.id}" may not be used here: its package ${packageId} is not allowed for this bot.`,
    {
      hint: `Add ${packageId} to the bot's allowed_plugins, or choose a runner of: ${allowed.join(", ") || "what ships"}.`,
      details: { runner_id: descriptor.id, allowed_packages: [...allowed] },
    },
  );
}
