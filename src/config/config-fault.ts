/** One fault of a configuration: where, what kind of value was found, what is allowed. Never the value itself. */

export interface ConfigFault {
  /** Path of the setting as `server.keys[0].key`; empty for the file as a whole. */
  readonly path: string;
  readonly found: string;
  readonly allowed: string;
}

export type SettingPath = readonly (string | number)[];

export function formatPath(path: SettingPath): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === "number") return `${text}[${part}]`;
    const name = /^[A-Za-z_][\w-]*$/.test(part) ? part : JSON.stringify(part.slice(0, 80));
    return text === "" ? name : `${text}.${name}`;
  }, "");
}

/** The kind of a value, with its figure where that can be no secret. */
export function describeValue(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (typeof value === "number") return `the number ${value}`;
  if (typeof value === "boolean") return String(value);
  if (typeof value === "string") return value === "" ? "empty text" : `text of ${value.length} characters`;
  if (Array.isArray(value)) return `a list of ${value.length}`;
  return "a group of settings";
}

/** One line for people. */
export function formatFault(fault: ConfigFault): string {
  const place = fault.path === "" ? "the file" : fault.path;
  return `${place}: found ${fault.found}; allowed: ${fault.allowed}.`;
}
