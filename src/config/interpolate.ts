/** Puts environment variables into a configuration: `${VAR}`, `${VAR:-default}`, and `$${` for a plain `${` (api §8). */
import { type ConfigFault, formatPath, type SettingPath } from "./config-fault.js";

export interface Interpolated {
  readonly value: unknown;
  /** Paths of texts that hold something of the environment, with the names of the variables. */
  readonly substituted: ReadonlyMap<string, string>;
  readonly faults: readonly ConfigFault[];
}

export type Environment = Readonly<Record<string, string | undefined>>;

const REFERENCE = /\$\$\{|\$\{([^}]*)\}?/g;
const NAME = /^([A-Za-z_][A-Za-z0-9_]*)(?::-([\s\S]*))?$/;

/**
 * Replaces references in every text of a parsed file; keys and other values stay.
 * A variable that is missing or empty takes the reference's default; without a default a missing one is a fault.
 */
export function interpolate(raw: unknown, environment: Environment): Interpolated {
  const substituted = new Map<string, string>();
  const faults: ConfigFault[] = [];

  const visitText = (text: string, path: SettingPath): string => {
    const names: string[] = [];
    const replaced = text.replace(REFERENCE, (whole: string, inner?: string) => {
      if (inner === undefined) return "${";
      const [, name, fallback] = (whole.endsWith("}") ? NAME.exec(inner) : null) ?? [];
      if (name === undefined) {
        faults.push(faultyReference(path));
        return "";
      }
      names.push(name);
      const value = environment[name];
      if (value !== undefined && (value !== "" || fallback === undefined)) return value;
      if (fallback !== undefined) return fallback;
      faults.push(missingVariable(path, name));
      return "";
    });
    if (names.length > 0) substituted.set(formatPath(path), names.join(", "));
    return replaced;
  };

  const visit = (value: unknown, path: SettingPath): unknown => {
    if (typeof value === "string") return visitText(value, path);
    if (Array.isArray(value)) return value.map((item: unknown, index) => visit(item, [...path, index]));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, visit(item, [...path, key])]));
  };

  return { value: visit(raw, []), substituted, faults };
}

function missingVariable(path: SettingPath, name: string): ConfigFault {
  return {
    path: formatPath(path),
    found: `a reference to the variable ${name}, which is not set`,
    allowed: `a variable that is set, or a default as in \${${name}:-default}`,
  };
}

function faultyReference(path: SettingPath): ConfigFault {
  return {
    path: formatPath(path),
    found: "a reference that cannot be read",
    allowed: "${NAME}, ${NAME:-default}, or $${ for a plain ${",
  };
}
