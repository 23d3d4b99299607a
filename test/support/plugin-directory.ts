/** Packages on disk, as their authors write them. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";

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
  await writeFile(join(directory, "plugin.yaml"), stringify(manifest));
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
