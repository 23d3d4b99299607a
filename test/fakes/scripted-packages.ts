/** Packages that a test wrote: what they declare, how their runners play, what they answer to events. */
import type { EventType } from "../../src/domain/event.js";
import type { RunnerResult } from "../../src/domain/result.js";
import type { RunContext } from "../../src/domain/run-context.js";
import type { CallOptions } from "../../src/ports/options.js";
import type {
  PluginAnswer,
  PluginEvent,
  PluginPackage,
  PluginPackages,
} from "../../src/ports/plugin-packages.js";
import type { RunHost } from "../../src/ports/run-host.js";
import { completed, message, type Play, ScriptedRunner } from "./scripted-runner.js";

type Listener = (event: PluginEvent, options: CallOptions) => Promise<PluginAnswer>;

export interface PackageParts {
  readonly id: string;
  readonly manifests?: readonly unknown[];
  readonly listensTo?: readonly EventType[];
  readonly answer?: Listener;
}

export class ScriptedPackages implements PluginPackages {
  generation = 1;
  /** Thrown by `list`, while it is set. */
  failure: Error | null = null;
  packages: readonly PackageParts[];
  /** How often the packages were listed. */
  lists = 0;
  /** Runners that were run, and events that were offered, in order. */
  readonly runs: string[] = [];
  readonly events: { readonly packageId: string; readonly event: PluginEvent }[] = [];
  readonly #play: Play;

  constructor(packages: readonly PackageParts[], play: Play = answerWith("Done.")) {
    this.packages = packages;
    this.#play = play;
  }

  async list({ signal }: CallOptions): Promise<readonly PluginPackage[]> {
    this.lists += 1;
    signal.throwIfAborted();
    if (this.failure !== null) throw this.failure;
    return this.packages.map(({ id, manifests = [], listensTo = [] }) => ({
      id,
      version: "1.0.0",
      runnerManifests: manifests,
      tools: [],
      listensTo,
    }));
  }

  run(
    runner: { readonly packageId: string; readonly runnerName: string },
    { context, host }: { readonly context: RunContext; readonly host: RunHost },
    options: CallOptions,
  ): AsyncIterable<RunnerResult> {
    this.runs.push(`${runner.packageId}/${runner.runnerName}`);
    return new ScriptedRunner({ play: this.#play }).run(context, host, options);
  }

  async callTool(): Promise<never> {
    throw new Error("No test calls a tool of these packages.");
  }

  async offerEvent(packageId: string, event: PluginEvent, options: CallOptions): Promise<PluginAnswer> {
    this.events.push({ packageId, event });
    const found = this.packages.find(({ id }) => id === packageId);
    if (found?.answer === undefined) throw new Error(`${packageId} does not listen.`);
    return found.answer(event, options);
  }
}

function answerWith(text: string): Play {
  return async function* play({ run_id }) {
    yield { ...message(text), run_id };
    yield { ...completed(), run_id };
  };
}

export interface RunnerParts {
  readonly name?: string;
  readonly kind?: string;
  readonly config?: readonly unknown[];
  readonly capabilities?: Readonly<Record<string, unknown>>;
  readonly permissions?: Readonly<Record<string, unknown>>;
  /** Besides name and label. */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** The manifest of a runner, as a package writes it. */
export function aManifest(parts: RunnerParts = {}): Readonly<Record<string, unknown>> {
  const { name = "default", kind = "AgentRunner", metadata = {} } = parts;
  return {
    kind,
    metadata: { name, label: { en: `Runner ${name}` }, ...metadata },
    spec: {
      config: parts.config ?? [],
      capabilities: parts.capabilities ?? { streaming: true },
      permissions: parts.permissions ?? {},
    },
  };
}
