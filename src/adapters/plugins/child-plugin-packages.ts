/** Packages of a directory, each in a process of its own (design §1.2). */
import { ServiceError } from "../../domain/errors.js";
import type { RunnerResult } from "../../domain/result.js";
import type { RunContext } from "../../domain/run-context.js";
import type { ToolOutcome } from "../../domain/tool.js";
import { abortReason } from "../../lib/abort-reason.js";
import { linkSignals } from "../../lib/link-signals.js";
import { SingleFlight } from "../../lib/single-flight.js";
import { TimeLimit } from "../../lib/time-limit.js";
import type { CallOptions } from "../../ports/options.js";
import type {
  PluginAnswer,
  PluginEvent,
  PluginPackage,
  PluginPackages,
} from "../../ports/plugin-packages.js";
import type { RunHost } from "../../ports/run-host.js";
import type { PackageProcess, ProcessDeps } from "./package-process.js";
import { PackageSupervisor } from "./package-supervisor.js";
import { type InstalledPackage, type KnownManifests, scanPackages } from "./scan-packages.js";

export interface ChildPluginPackagesDeps extends ProcessDeps {
  readonly settings: ProcessDeps["settings"] & {
    /** Absolute. */
    readonly directory: string;
    readonly eventMs: number;
  };
}

export class ChildPluginPackages implements PluginPackages, AsyncDisposable {
  readonly #deps: ChildPluginPackagesDeps;
  readonly #scans = new SingleFlight<"scan", readonly PluginPackage[]>();
  readonly #supervisors = new Map<string, PackageSupervisor>();
  readonly #retiring = new Set<Promise<void>>();
  readonly #life = new AbortController();
  readonly #manifests: KnownManifests = new Map();
  #warned: ReadonlySet<string> = new Set();
  #generation = 1;

  constructor(deps: ChildPluginPackagesDeps) {
    this.#deps = deps;
  }

  get generation(): number {
    return this.#generation;
  }

  async list(options: CallOptions): Promise<readonly PluginPackage[]> {
    return this.#scans.run("scan", (signal) => this.#scan({ signal }), options);
  }

  async *run(
    runner: { readonly packageId: string; readonly runnerName: string },
    given: { readonly context: RunContext; readonly host: RunHost },
    options: CallOptions,
  ): AsyncGenerator<RunnerResult, void> {
    const supervisor = await this.#find(runner.packageId, options);
    const process = await supervisor.acquire(options);
    try {
      yield* process.run({ runnerName: runner.runnerName, ...given }, options);
    } finally {
      supervisor.noteWork();
    }
  }

  async callTool(
    tool: { readonly packageId: string; readonly name: string },
    parameters: Readonly<Record<string, unknown>>,
    options: CallOptions,
  ): Promise<ToolOutcome> {
    try {
      const { name } = tool;
      const answer = await this.#ask(tool.packageId, options, (process) =>
        process.callTool({ name, parameters }, options),
      );
      return answer.ok ? { ok: true, result: answer.value } : { ok: false, error: answer.said };
    } catch (error) {
      options.signal.throwIfAborted();
      if (error instanceof ServiceError) return { ok: false, error: error.message };
      throw error;
    }
  }

  async offerEvent(packageId: string, event: PluginEvent, options: CallOptions): Promise<PluginAnswer> {
    const { eventMs } = this.#deps.settings;
    using limit = new TimeLimit(
      () =>
        new ServiceError(
          "runner.timeout",
          `The package ${packageId} did not answer an event within ${eventMs / 1000} s.`,
        ),
    );
    limit.restart(eventMs);
    using linked = linkSignals(options.signal, limit.signal);
    const answer = await this.#ask(packageId, linked, (process) => process.offerEvent(event, linked));
    if (answer.ok) return answer.value;
    throw new ServiceError("runner.error", `The package ${packageId} failed on an event.`, {
      cause: answer.cause,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#life.abort();
    const supervisors = [...this.#supervisors.values()];
    this.#supervisors.clear();
    await Promise.all([...supervisors.map((each) => each[Symbol.asyncDispose]()), ...this.#retiring]);
  }

  async #ask<Answer>(
    packageId: string,
    options: CallOptions,
    question: (process: PackageProcess) => Promise<Answer>,
  ): Promise<Answer> {
    const supervisor = await this.#find(packageId, options);
    const process = await supervisor.acquire(options);
    try {
      return await question(process);
    } finally {
      supervisor.noteWork();
    }
  }

  /** @throws ServiceError `runner.not_found` for a package that is not installed */
  async #find(packageId: string, options: CallOptions): Promise<PackageSupervisor> {
    if (this.#life.signal.aborted) throw abortReason(this.#life.signal);
    if (!this.#supervisors.has(packageId)) await this.list(options);
    const supervisor = this.#supervisors.get(packageId);
    if (supervisor !== undefined) return supervisor;
    throw new ServiceError("runner.not_found", `The package "${packageId.slice(0, 200)}" is not installed.`);
  }

  async #scan(options: CallOptions): Promise<readonly PluginPackage[]> {
    const { packages, warnings } = await scanPackages(
      this.#deps.settings.directory,
      this.#manifests,
      options,
    );
    if (!this.#life.signal.aborted) this.#apply(packages);
    for (const warning of warnings) if (!this.#warned.has(warning)) this.#deps.logger.warn({}, warning);
    this.#warned = new Set(warnings);
    return packages.map(({ id, version, runnerManifests, tools, listensTo }) => ({
      id,
      version,
      runnerManifests,
      tools,
      listensTo,
    }));
  }

  /** What was changed or removed finishes what it is at; whatever comes after goes to the package as it is on disk. */
  #apply(packages: readonly InstalledPackage[]): void {
    const found = new Map(packages.map((installed) => [installed.id, installed]));
    for (const [id, supervisor] of this.#supervisors) {
      if (found.get(id)?.revision === supervisor.installed.revision) continue;
      this.#supervisors.delete(id);
      this.#generation += 1;
      const retiring = this.#retire(supervisor).finally(() => this.#retiring.delete(retiring));
      this.#retiring.add(retiring);
    }
    for (const [id, installed] of found) {
      if (this.#supervisors.has(id)) continue;
      this.#generation += 1;
      const onRestart = (): void => void (this.#generation += 1);
      this.#supervisors.set(id, new PackageSupervisor({ ...this.#deps, onRestart }, installed));
    }
  }

  async #retire(supervisor: PackageSupervisor): Promise<void> {
    try {
      await supervisor.retire({ signal: this.#life.signal });
    } catch (error) {
      if (!this.#life.signal.aborted)
        this.#deps.logger.error(
          { package: supervisor.installed.id },
          "A package could not be stopped.",
          error,
        );
    }
  }
}
