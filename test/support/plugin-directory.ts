/** Packages on disk, as their authors write them. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import {
  ChildPluginPackages,
  type ChildPluginPackagesDeps,
} from "../../src/adapters/plugins/child-plugin-packages.js";
import { SystemClock } from "../../src/adapters/system/system-clock.js";
import type { RunContext } from "../../src/domain/run-context.js";
import type { PluginEvent } from "../../src/ports/plugin-packages.js";
import { hostActions } from "../../src/runs/host/host-actions.js";
import { FakeClock } from "../fakes/fake-clock.js";
import { FakeRunHost } from "../fakes/fake-run-host.js";
import { KeptLogger } from "../fakes/kept-logger.js";
import { contextOf } from "../unit/runners/local-agent/run-agent.js";
import { type Opened, opened } from "./opened.js";

export interface PackageText {
  /** `author/plugin`. */
  readonly id: string;
  /** Text of the entry module. */
  readonly entry: string;
  /** Names of runners, each with capabilities and permissions of its own. */
  readonly runners?: Readonly<Record<string, RunnerText>>;
  /** Over what `spec` holds otherwise. */
  readonly spec?: Readonly<Record<string, unknown>>;
}

export interface RunnerText {
  readonly capabilities?: Readonly<Record<string, boolean>>;
  readonly permissions?: Readonly<Record<string, readonly string[]>>;
}

/** @returns the package's directory */
export async function writePackage(
  root: string,
  { id, entry, runners = {}, spec }: PackageText,
): Promise<string> {
  const [author = "", name = ""] = id.split("/");
  const directory = join(root, `${author}-${name}`);
  await mkdir(directory, { recursive: true });
  const manifest = {
    kind: "Plugin",
    metadata: { author, name, version: "1.0.0", label: { en: name } },
    spec: { entry: "index.mjs", runners: Object.entries(runners).map(aRunner), ...spec },
  };
  await writeFile(join(directory, "plugin.yaml"), stringify(manifest, { aliasDuplicateObjects: false }));
  await writeFile(join(directory, "index.mjs"), entry);
  return directory;
}

function aRunner([name, { capabilities = { streaming: true }, permissions = {} }]: [string, RunnerText]) {
  return {
    kind: "AgentRunner",
    metadata: { name, label: { en: name } },
    spec: { config: [], capabilities, permissions },
  };
}

/** What a package's runner is told of its run. */
export function aPluginContext(
  of: { readonly runId?: `run_${string}` | undefined; readonly text?: string | undefined } = {},
): RunContext {
  const host = new FakeRunHost();
  return contextOf({ runId: of.runId ?? "run_1", text: of.text ?? "Hello" }, host, new FakeClock());
}

export function aPluginEvent(text: string): PluginEvent {
  return { event_type: "message.received", tenant: "main", pipeline: "default", chat: null, text, data: {} };
}

export interface OpenPackages {
  readonly packages: ChildPluginPackages;
  readonly logger: KeptLogger;
}

/** Packages of a directory in processes of their own, as compose builds them; all of them end with the test. */
export function openPackages(
  directory: string,
  settings: Partial<ChildPluginPackagesDeps["settings"]> = {},
): Opened<OpenPackages> {
  const logger = new KeptLogger();
  const packages = new ChildPluginPackages({
    clock: new SystemClock(),
    logger,
    actions: hostActions,
    settings: {
      directory,
      execPath: process.execPath,
      environment: { PATH: process.env["PATH"] ?? "" },
      packageEnvironment: {},
      memoryMb: 256,
      startMs: 30_000,
      hangMs: 10_000,
      eventMs: 5_000,
      ...settings,
    },
  });
  return opened({ packages, logger }, () => packages[Symbol.asyncDispose]());
}
