/** What must hold of a binding before it is saved and before it runs (runs §5.5). Pure. */
import { findAccessFaults } from "./access-switches.js";
import { isGroup, sectionOf, selectedEntry, selectedRunner } from "./binding-config.js";
import { runnerAliases } from "./runner-id.js";

export interface BindingFault {
  /** Keys that lead to it, from the binding on; empty = the binding itself. */
  readonly path: readonly string[];
  /** What stands there, without its value. */
  readonly found: string;
  readonly allowed: string;
}

/** Blocks of runners that are not selected are only looked at for their form. */
export function findBindingFaults(binding: unknown): readonly BindingFault[] {
  if (!isGroup(binding)) return [{ path: [], found: kindOf(binding), allowed: "a group of settings" }];
  const shape = findShapeFaults(binding);
  return shape.length > 0 ? shape : findSelectionFaults(binding);
}

function findShapeFaults(binding: Readonly<Record<string, unknown>>): readonly BindingFault[] {
  const ai = binding["ai"];
  if (ai !== undefined && !isGroup(ai)) return [{ path: ["ai"], found: kindOf(ai), allowed: "a group" }];
  const { prefix, section } = sectionOf(binding);
  const { runner, runner_config: configs } = section;
  const faults: BindingFault[] = [];
  if (runner !== undefined && !isGroup(runner))
    faults.push({ path: [...prefix, "runner"], found: kindOf(runner), allowed: "a group" });
  else if (runner?.["id"] !== undefined && typeof runner["id"] !== "string")
    faults.push({ path: [...prefix, "runner", "id"], found: kindOf(runner["id"]), allowed: "a runner id" });
  if (configs === undefined) return faults;
  const place = [...prefix, "runner_config"];
  if (!isGroup(configs)) return [...faults, { path: place, found: kindOf(configs), allowed: "a group" }];
  return [
    ...faults,
    ...Object.entries(configs).flatMap(([id, config]) => findEntryFaults(place, id, config)),
  ];
}

function findEntryFaults(place: readonly string[], id: string, config: unknown): readonly BindingFault[] {
  if (id === "") return [{ path: place, found: "an entry without a name", allowed: "entries by runner id" }];
  return isGroup(config) ? [] : [{ path: [...place, id], found: kindOf(config), allowed: "a group" }];
}

function findSelectionFaults(binding: unknown): readonly BindingFault[] {
  const { prefix, section } = sectionOf(binding);
  const id = isGroup(section["runner"]) ? selectedRunner(section["runner"]) : null;
  if (id === null) return [];
  const entry = selectedEntry(binding);
  if (entry === null)
    return [
      {
        path: [...prefix, "runner_config"],
        found: `no entry for the selected runner ${id.slice(0, 200)}`,
        allowed: `an entry under ${runnerAliases(id).join(" or ").slice(0, 600)}`,
      },
    ];
  return findAccessFaults(entry.config).map((sentence) => ({
    path: entry.path,
    found: "a switch that is no boolean",
    allowed: sentence.replace(/\.$/, ""),
  }));
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "a list" : `a ${typeof value}`;
}
