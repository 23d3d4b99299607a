/** Finds the packages of a directory: one to each directory in it, judged one by one (runs §3.1). */
import { type BigIntStats, constants } from "node:fs";
import { lstat, open, readdir, realpath } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { z } from "zod";
import type { EventType } from "../../domain/event.js";
import type { ToolDefinition } from "../../domain/tool.js";
import type { CallOptions } from "../../ports/options.js";
import { parsePlainYaml } from "./plain-yaml.js";
import { interruptible, pluginManifestSchema } from "./plugin-manifest.js";

export const MANIFEST_NAME = "plugin.yaml";
const MAX_MANIFEST_BYTES = 256 * 1024;
const MAX_PACKAGES = 1000;

/** A package that can be started. */
export interface InstalledPackage {
  /** `author/plugin`. */
  readonly id: string;
  readonly version: string;
  /** Absolute, without links. */
  readonly directory: string;
  readonly entry: string;
  /** MiB; null = the service's default. */
  readonly memoryMb: number | null;
  readonly runnerManifests: readonly unknown[];
  readonly interruptible: ReadonlySet<string>;
  readonly tools: readonly ToolDefinition[];
  readonly listensTo: readonly EventType[];
  /** Changes with the manifest and the entry. */
  readonly revision: string;
}

export interface ScanResult {
  readonly packages: readonly InstalledPackage[];
  /** One sentence each: what was found and is no package. */
  readonly warnings: readonly string[];
}

/** Why something is no package; its text names no place outside of the packages' directory. */
class Refusal extends Error {}

type Manifest = z.infer<typeof pluginManifestSchema>;

/** Manifests that were read before, by path; one that has not changed is not read again, nor is one that was refused. */
export type KnownManifests = Map<string, { readonly stamp: string; readonly manifest: Manifest | Refusal }>;

/**
 * A directory that does not exist holds no packages.
 * @param known kept by the caller from scan to scan
 * @throws what the file system fails with
 */
export async function scanPackages(
  root: string,
  known: KnownManifests,
  { signal }: CallOptions,
): Promise<ScanResult> {
  const packages = new Map<string, InstalledPackage>();
  const warnings: string[] = [];
  for (const name of await listDirectories(root)) {
    signal.throwIfAborted();
    try {
      const found = await readPackage(join(root, name), known);
      if (found === null) continue;
      if (packages.has(found.id)) throw new Refusal(`a package "${found.id}" is there already`);
      packages.set(found.id, found);
    } catch (error) {
      warnings.push(`The package in "${name.slice(0, 100)}" is refused: ${describe(error)}.`);
    }
  }
  return { packages: [...packages.values()], warnings };
}

async function listDirectories(root: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(root, { withFileTypes: true });
    const names = entries.filter((entry) => entry.isDirectory() || entry.isSymbolicLink());
    return names
      .map(({ name }) => name)
      .filter((name) => !name.startsWith(".") && name !== "node_modules")
      .toSorted()
      .slice(0, MAX_PACKAGES);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    throw error;
  }
}

/** @returns null for a directory without a manifest */
async function readPackage(path: string, known: KnownManifests): Promise<InstalledPackage | null> {
  if ((await lstat(path)).isSymbolicLink()) throw new Refusal("it is a link");
  const directory = await realpath(path);
  const read = await readManifest(join(directory, MANIFEST_NAME), known);
  if (read === null) return null;
  const { metadata, spec } = read.manifest;
  const entry = await findEntry(directory, spec.entry);
  return {
    id: `${metadata.author}/${metadata.name}`,
    version: metadata.version,
    directory,
    entry: entry.path,
    memoryMb: spec.memory_mb ?? null,
    runnerManifests: spec.runners,
    interruptible: interruptible(spec.runners),
    tools: spec.tools,
    listensTo: spec.listens_to,
    revision: `${directory} ${read.stamp} ${entry.stamp}`,
  };
}

async function readManifest(
  path: string,
  known: KnownManifests,
): Promise<{ readonly manifest: Manifest; readonly stamp: string } | null> {
  try {
    await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const stats = await file.stat({ bigint: true });
    if (!stats.isFile()) throw new Refusal(`${MANIFEST_NAME} is not a file`);
    if (stats.size > MAX_MANIFEST_BYTES)
      throw new Refusal(`${MANIFEST_NAME} has ${stats.size} bytes; the limit is ${MAX_MANIFEST_BYTES}`);
    const stamp = stampOf(stats);
    const before = known.get(path);
    const manifest = before?.stamp === stamp ? before.manifest : parseManifest(await file.readFile("utf8"));
    known.set(path, { stamp, manifest });
    if (manifest instanceof Refusal) throw manifest;
    return { manifest, stamp };
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    if (codeOf(error) === "ELOOP") throw new Refusal(`${MANIFEST_NAME} is a link`);
    throw error;
  }
}

/** Times in nanoseconds: a file that was written twice in a millisecond is another one. */
function stampOf({ ino, mtimeNs, size }: BigIntStats): string {
  return `${ino} ${mtimeNs} ${size}`;
}

function parseManifest(text: string): Manifest | Refusal {
  let content: unknown;
  try {
    content = parsePlainYaml(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : "cannot be read";
    return new Refusal(`${MANIFEST_NAME} ${reason}`, { cause: error });
  }
  const parsed = pluginManifestSchema.safeParse(content);
  if (parsed.success) return parsed.data;
  return new Refusal(z.prettifyError(parsed.error).replaceAll(/\s+/g, " ").slice(0, 500));
}

/** The entry is a file of the package, and no part of its path is a link. */
async function findEntry(directory: string, entry: string): Promise<{ path: string; stamp: string }> {
  const path = join(directory, entry);
  const below = relative(directory, path);
  if (below.startsWith("..")) throw new Refusal("its entry lies outside of it");
  try {
    for (let part = path; part !== directory; part = dirname(part))
      if ((await lstat(part)).isSymbolicLink()) throw new Refusal("its entry is a link, or lies behind one");
    const stats = await lstat(path, { bigint: true });
    if (!stats.isFile() || !(await realpath(path)).startsWith(directory + sep))
      throw new Refusal("its entry is not a file");
    return { path, stamp: stampOf(stats) };
  } catch (error) {
    if (codeOf(error) === "ENOENT") throw new Refusal(`its entry "${entry}" is missing`);
    throw error;
  }
}

function codeOf(error: unknown): string | null {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : null;
}

function describe(error: unknown): string {
  return error instanceof Refusal
    ? error.message
    : `it cannot be read (${codeOf(error) ?? "unknown reason"})`;
}
