/** Switches of a runner config that widen what a run may reach: they count only as real booleans (runs §5.5, §5.6). */

const SWITCHES = ["enable-all-tools", "mcp-resource-agent-read-enabled"] as const;
export type AccessSwitch = (typeof SWITCHES)[number];

type Config = Readonly<Record<string, unknown>>;

/** At run, whatever is not `true` itself counts as false (runs §5.6). */
export function isSwitchedOn(config: Config, name: AccessSwitch): boolean {
  return config[name] === true;
}

/** @returns one sentence for each switch that is no boolean; what is not there is no fault */
export function findAccessFaults(config: Config): readonly string[] {
  return writtenSwitches(config).flatMap(([key, value]) =>
    value === undefined || typeof value === "boolean"
      ? []
      : [`${key} must be true or false, but ${JSON.stringify(value)} was given.`],
  );
}

function writtenSwitches(config: Config): readonly (readonly [string, unknown])[] {
  const named = SWITCHES.map((key) => [key, config[key]] as const);
  const listed = config["mcp-resources"];
  if (!Array.isArray(listed)) return named;
  const entries = listed.map(
    (entry: unknown, index) => [`mcp-resources[${index}].enabled`, enabledOf(entry)] as const,
  );
  return [...named, ...entries];
}

function enabledOf(entry: unknown): unknown {
  return typeof entry === "object" && entry !== null && "enabled" in entry ? entry.enabled : undefined;
}
