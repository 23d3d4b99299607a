/** The rows of runs §6.1, one function each: what an older config of the local agent becomes. Pure. */
import type { RunnerConfig } from "../domain/binding.js";
import { isEmptySelection } from "../domain/selector-values.js";

/** `keep`: the template is written as it is; `drop`: the default counts, and files are shared anew. */
export type TemplateChoice = "keep" | "drop";

export interface AgentFacts {
  /** The binding is of a version that ran tools one after another. */
  readonly isOld: boolean;
  /** Of the pipeline's output section; undefined = nothing was written. */
  readonly removeThink: unknown;
  readonly template: TemplateChoice | undefined;
}

export interface MigratedConfig {
  readonly config: RunnerConfig;
  readonly changes: readonly string[];
  readonly warnings: readonly string[];
  /** Why nothing may be migrated yet; null = it may. */
  readonly stop: string | null;
}

/** What every box template was, where nobody wrote one. */
const OLD_TEMPLATE = "{launcher_type}_{launcher_id}";
const TEMPLATE = "box-session-id-template";
/** Keys that only older versions wrote. */
const OLD_KEYS = ["knowledge-base", "max-round"];

type Row = (config: RunnerConfig, facts: AgentFacts) => Partial<MigratedConfig> | null;

/** Missing, null and the empty text are three things in every row (runs §6.2). */
export function migrateAgentConfig(config: RunnerConfig, given: AgentFacts): MigratedConfig {
  const isOld = given.isOld || isOldConfig(config);
  const start: MigratedConfig = { config, changes: [], warnings: [], stop: null };
  return ROWS.reduce((sum, row) => add(sum, row(sum.config, { ...given, isOld })), start);
}

function isOldConfig(config: RunnerConfig): boolean {
  return typeof config["model"] === "string" || OLD_KEYS.some((key) => Object.hasOwn(config, key));
}

function add(sum: MigratedConfig, row: Partial<MigratedConfig> | null): MigratedConfig {
  return {
    config: row?.config ?? sum.config,
    changes: [...sum.changes, ...(row?.changes ?? [])],
    warnings: [...sum.warnings, ...(row?.warnings ?? [])],
    stop: sum.stop ?? row?.stop ?? null,
  };
}

const ROWS: readonly Row[] = [modelRow, knowledgeRow, roundRow, thinkRow, modeRow, templateRow];

function modelRow(config: RunnerConfig): ReturnType<Row> {
  const { model } = config;
  if (typeof model !== "string") return null;
  return {
    config: { ...config, model: { primary: model, fallbacks: [], reasoning: {} } },
    changes: ["model is written as {primary, fallbacks, reasoning}."],
  };
}

/** A plural key that is filled wins; runs never look at the single one. */
function knowledgeRow(config: RunnerConfig): ReturnType<Row> {
  if (!Object.hasOwn(config, "knowledge-base")) return null;
  const { "knowledge-base": single, ...rest } = config;
  const plural = rest["knowledge-bases"];
  const isFilled = Array.isArray(plural) && plural.length > 0;
  if (isFilled || isEmptySelection(single))
    return { config: rest, changes: ["knowledge-base is removed; knowledge-bases stays as it is."] };
  if (typeof single !== "string")
    return {
      config: rest,
      changes: ["knowledge-base is removed."],
      warnings: ["knowledge-base is no text, so no knowledge base is taken from it."],
    };
  return {
    config: { ...rest, "knowledge-bases": [single] },
    changes: ["knowledge-base is written as knowledge-bases, with one entry."],
  };
}

function roundRow(config: RunnerConfig): ReturnType<Row> {
  if (!Object.hasOwn(config, "max-round")) return null;
  const { "max-round": _rounds, ...rest } = config;
  return {
    config: rest,
    changes: ["max-round is removed."],
    warnings: ["max-round has no counterpart: rounds are not turned into a number of tokens."],
  };
}

/** What the runner's config says itself is kept. */
function thinkRow(config: RunnerConfig, { removeThink }: AgentFacts): ReturnType<Row> {
  if (typeof removeThink !== "boolean" || Object.hasOwn(config, "remove-think")) return null;
  return {
    config: { ...config, "remove-think": removeThink },
    changes: [`remove-think: ${removeThink} is copied from the output section.`],
  };
}

function modeRow(config: RunnerConfig, { isOld }: AgentFacts): ReturnType<Row> {
  if (!isOld || Object.hasOwn(config, "tool-execution-mode")) return null;
  return {
    config: { ...config, "tool-execution-mode": "serial" },
    changes: ["tool-execution-mode: serial is written, as tools ran one after another so far."],
  };
}

function templateRow(config: RunnerConfig, { isOld, template: choice }: AgentFacts): ReturnType<Row> {
  if (!isOld) return null;
  const { [TEMPLATE]: template, ...rest } = config;
  const isWritten = Object.hasOwn(config, TEMPLATE);
  const starts = ["Files are shared anew: boxes of before are not found again, and nothing is moved."];
  if (!isWritten) return { warnings: starts };
  if (template === "" || template === OLD_TEMPLATE)
    return { config: rest, changes: [`${TEMPLATE} is not written: the default counts.`], warnings: starts };
  if (typeof template !== "string") return null;
  if (choice === "drop")
    return { config: rest, changes: [`${TEMPLATE} is removed, as was decided.`], warnings: starts };
  if (choice === "keep") return { warnings: starts };
  return {
    stop: `${TEMPLATE} has a text of its own, which says who shares files. Somebody has to decide whether it stays.`,
  };
}
