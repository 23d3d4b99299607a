/** Writes a binding as it is saved, with the keys of older versions beside the new ones where that is wanted (runs §5.4). Pure. */
import { isGroup, sectionOf, selectedEntry, selectedRunner } from "./binding-config.js";
import { legacyRunnerName } from "./runner-id.js";

type Group = Readonly<Record<string, unknown>>;

/**
 * @param writeLegacyKeys the setting `compat.write_legacy_keys`: then all of it lies in `ai`, where older versions look
 * @returns `{runner, runner_config}`, or `{ai: {runner, runner_config, <old name>?}}`; other keys of the section stay
 */
export function savedBinding(binding: unknown, writeLegacyKeys: boolean): Group {
  const { section } = sectionOf(binding);
  const runner = isGroup(section["runner"]) ? section["runner"] : {};
  const id = selectedRunner(runner);
  const name = id === null ? null : legacyRunnerName(id);
  const config = selectedEntry(binding)?.config ?? {};
  const { runner: _old, ...kept } = runner;
  const configs = isGroup(section["runner_config"]) ? section["runner_config"] : {};
  const written = {
    ...withoutBlocks(section, name),
    runner: id === null ? kept : { ...kept, id },
    runner_config: id === null ? configs : { ...configs, [id]: config },
  };
  if (!writeLegacyKeys) return written;
  if (id === null || name === null) return { ai: written };
  return { ai: { ...written, runner: { ...kept, id, runner: name }, [name]: config } };
}

/** The block of the selected runner goes into `runner_config`; blocks of others are nobody's yet and stay. */
function withoutBlocks(section: Group, name: string | null): Group {
  return Object.fromEntries(Object.entries(section).filter(([key]) => key !== name));
}
