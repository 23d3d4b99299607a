/** Checks parsed settings against the schema and tells every fault, in words that name what is allowed. */
import type { z } from "zod";
import { BrokenParts, type BrokenPlace } from "./broken-parts.js";
import { type ConfigFault, describeValue, formatPath, type SettingPath } from "./config-fault.js";
import { type Settings, settingsSchema } from "./config-schema.js";
import { describeAllowed, nodeAt, type SchemaNode, toSchemaNode } from "./describe-setting.js";
import { isGroup } from "./group.js";

export interface CheckedSettings {
  readonly faults: readonly ConfigFault[];
  /** What is faulty; in `settings` it has its defaults. */
  readonly broken: BrokenParts;
  readonly settings: Settings;
}

/**
 * @param substituted paths of texts that came from the environment: where the setting wants a number or a boolean,
 *   such a text is read as one
 */
export function checkSettings(raw: unknown, substituted: ReadonlyMap<string, string>): CheckedSettings {
  const root = toSchemaNode(settingsSchema);
  const input = readTexts(raw ?? {}, { root, substituted, path: [] });
  const parsed = settingsSchema.safeParse(input);
  if (parsed.success) return { faults: [], broken: new BrokenParts([]), settings: parsed.data };
  const { issues } = parsed.error;
  const faults = issues.flatMap((issue) => toFaults(issue, input, { root, substituted }));
  const broken = new BrokenParts(issues.flatMap(brokenPlaces));
  const sound = broken.leaveOut(isGroup(input) ? input : {});
  // Every section, and every setting of one, has a default.
  return { faults, broken, settings: settingsSchema.parse(sound) };
}

function brokenPlaces(issue: z.core.$ZodIssue): BrokenPlace[] {
  const keys = issue.code === "unrecognized_keys" ? issue.keys : [null];
  return keys.flatMap((key): BrokenPlace[] => {
    const [section, name] = key === null ? issue.path : [...issue.path, key];
    if (typeof section !== "string") return [];
    return [typeof name === "string" ? [section, name] : [section]];
  });
}

interface Known {
  readonly root: SchemaNode;
  readonly substituted: ReadonlyMap<string, string>;
}

function toFaults(issue: z.core.$ZodIssue, input: unknown, known: Known): ConfigFault[] {
  const path = issue.path.filter((part) => typeof part !== "symbol");
  const node = nodeAt(known.root, path);
  if (issue.code === "unrecognized_keys") {
    const names = Object.keys(node?.properties ?? {}).join(", ");
    return issue.keys.map((key) => ({
      path: formatPath([...path, key]),
      found: "an unknown setting",
      allowed: names,
    }));
  }
  const place = formatPath(path);
  if (issue.code === "invalid_key") {
    const group = nodeAt(known.root, path.slice(0, -1));
    const allowed = group === null ? issue.message : describeAllowed(group);
    return [{ path: place, found: "a name that cannot be used", allowed }];
  }
  const variable = known.substituted.get(place);
  const found = describeValue(valueAt(input, path));
  return [
    {
      path: place,
      found: variable === undefined ? found : `${found} from ${variable}`,
      allowed: node === null ? issue.message : describeAllowed(node),
    },
  ];
}

function valueAt(value: unknown, path: SettingPath): unknown {
  let current = value;
  for (const part of path) {
    if (Array.isArray(current) && typeof part === "number") current = current[part];
    else current = isGroup(current) && Object.hasOwn(current, part) ? current[part] : undefined;
  }
  return current;
}

function readTexts(value: unknown, place: Known & { readonly path: SettingPath }): unknown {
  const inside = (part: string | number, item: unknown): unknown =>
    readTexts(item, { ...place, path: [...place.path, part] });
  if (Array.isArray(value)) return value.map((item: unknown, index) => inside(index, item));
  if (isGroup(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, inside(key, item)]));
  }
  if (typeof value !== "string" || !place.substituted.has(formatPath(place.path))) return value;
  return readText(value, nodeAt(place.root, place.path));
}

/** Reads a text of the environment as what the setting wants; a text that is none stays and becomes a fault. */
function readText(text: string, node: SchemaNode | null): unknown {
  const wanted = node === null ? [] : typesOf(node);
  if (wanted.includes("string")) return text;
  const readings: Readonly<Record<string, () => unknown>> = {
    null: () => (text === "" || text === "null" ? null : undefined),
    boolean: () => (text === "true" || text === "false" ? text === "true" : undefined),
    integer: () => readNumber(text),
    number: () => readNumber(text),
  };
  const read = wanted.map((type) => readings[type]?.()).find((value) => value !== undefined);
  return read === undefined ? text : read;
}

function typesOf(node: SchemaNode): readonly string[] {
  const options = [node, ...(node.anyOf ?? [])];
  return options.flatMap((option) =>
    typeof option === "object" && option.type !== undefined ? [option.type].flat() : [],
  );
}

function readNumber(text: string): number | undefined {
  return /^-?\d{1,15}(\.\d{1,15})?$/.test(text) ? Number(text) : undefined;
}
