/** `berth migrate-config FILE`: brings the pipelines of a configuration file up to date, with a backup beside it (runs §6). */
import { constants } from "node:fs";
import { copyFile, readFile, realpath, rename, stat, writeFile } from "node:fs/promises";
import { type Document, parseDocument } from "yaml";
import { CONFIG_EXIT_CODE } from "./check-config.js";
import { isGroup } from "./group.js";
import type { TemplateChoice } from "./migrate-agent-config.js";
import { type Migration, migrateBinding } from "./migrate-binding.js";

export interface MigrateConfigOptions {
  /** False = it is only said what would change. */
  readonly confirmed: boolean;
  /** What becomes of box templates with a text of their own. */
  readonly template?: TemplateChoice | undefined;
}

export interface MigratedFile {
  readonly exitCode: number;
  /** Ends with a line break. */
  readonly text: string;
}

/** The file is written only when it was confirmed, nothing stops it, and its backup is safe. */
export async function migrateConfigFile(file: string, options: MigrateConfigOptions): Promise<MigratedFile> {
  const text = await readFile(file, "utf8").catch(() => null);
  if (text === null) return failed(`${file}: no file that can be read.`);
  const document = parseDocument(text, { stringKeys: true });
  if (document.errors.length > 0)
    return failed(`${file}: not valid YAML; berth check-config FILE names the line.`);
  const settings = attempt((): unknown => document.toJS({ maxAliasCount: 100 }));
  if (settings === null) return failed(`${file}: ${ANCHORS}`);
  const migrated = attempt(() => migratePipelines(document, settings.value, options));
  if (migrated === null) return failed(`${file}: ${ANCHORS}`);
  const steps = migrated.value;
  const isStopped = steps.some(({ migration }) => migration.kind === "stopped");
  const told = steps.flatMap(describeStep);
  if (isStopped) return failed([...told, `${file}: nothing was changed.`, STOP_HINT].join("\n"));
  if (told.length === 0) return { exitCode: 0, text: `${file}: nothing to migrate.\n` };
  if (!options.confirmed)
    return {
      exitCode: 0,
      text: `${[...told, `${file}: nothing was changed. Write it with --confirm.`].join("\n")}\n`,
    };
  return writeMigrated(file, document, told);
}

const ANCHORS = "its anchors and aliases cannot be kept: nothing was changed. Write them out first.";
const STOP_HINT = "Decide with --templates keep or --templates drop.";

interface Step {
  readonly name: string;
  readonly migration: Migration;
}

/** Changes the document in memory. */
function migratePipelines(
  document: Document,
  settings: unknown,
  options: MigrateConfigOptions,
): readonly Step[] {
  const pipelines: unknown = isGroup(settings) ? settings["pipelines"] : undefined;
  if (!isGroup(settings) || !Array.isArray(pipelines)) return [];
  const compat = settings["compat"];
  const writeLegacyKeys = !(isGroup(compat) && compat["write_legacy_keys"] === false);
  return pipelines.map((pipeline: unknown, index) => {
    const migration = migrateBinding(pipeline, { ...options, writeLegacyKeys });
    if (migration.kind === "migrated") {
      const node = document.createNode(migration.binding, { aliasDuplicateObjects: false });
      document.setIn(["pipelines", index], node);
    }
    return { name: nameOf(pipeline, index), migration };
  });
}

function nameOf(pipeline: unknown, index: number): string {
  const id = isGroup(pipeline) ? pipeline["id"] : undefined;
  return typeof id === "string" ? `pipelines[${index}] (${id})` : `pipelines[${index}]`;
}

function describeStep({ name, migration }: Step): readonly string[] {
  if (migration.kind === "unchanged") return [];
  if (migration.kind === "stopped") return [`${name}: stopped: ${migration.reason}`];
  return [
    ...migration.changes.map((change) => `${name}: ${change}`),
    ...migration.warnings.map((warning) => `${name}: warning: ${warning}`),
  ];
}

/** The backup first, and never over one that is there; then the new file in one step. */
async function writeMigrated(
  file: string,
  document: Document,
  told: readonly string[],
): Promise<MigratedFile> {
  const written = attempt(() => document.toString({ lineWidth: 0 }));
  if (written === null) return failed(`${file}: ${ANCHORS}`);
  const place = await realpath(file);
  const backup = `${place}.bak`;
  try {
    await copyFile(place, backup, constants.COPYFILE_EXCL);
  } catch {
    const text = `${backup} cannot be written, or is there already: nothing was changed. Move it away first.`;
    return failed(text);
  }
  const { mode } = await stat(place);
  const next = `${place}.new`;
  await writeFile(next, written.value, { mode });
  await rename(next, place);
  const lines = [...told, `${file}: written. The file as it was: ${backup}`];
  return { exitCode: 0, text: `${lines.join("\n")}\n` };
}

/** @returns null where the YAML library refuses: an alias whose anchor is gone, or too many of them */
function attempt<Value>(work: () => Value): { readonly value: Value } | null {
  try {
    return { value: work() };
  } catch {
    return null;
  }
}

function failed(text: string): MigratedFile {
  return { exitCode: CONFIG_EXIT_CODE, text: `${text}\n` };
}
