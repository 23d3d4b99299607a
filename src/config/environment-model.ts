/** The model of OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL, for a file that lists none (api §8). */
import type { Group } from "./group.js";
import type { Environment } from "./interpolate.js";
import { MODEL_OF_ENVIRONMENT } from "./model-settings.js";

const OPENAI_URL = "https://api.openai.com/v1";
const OPENAI_MODEL = "gpt-5-mini";

/** Settings, and the variable that each came from; checked with the others. */
const VARIABLES = {
  api_key: "OPENAI_API_KEY",
  base_url: "OPENAI_BASE_URL",
  model: "OPENAI_MODEL",
} as const;

export interface EnvironmentModel {
  readonly settings: Group;
  /** Names of settings with the variable each came from. */
  readonly variables: readonly (readonly [setting: string, variable: string])[];
}

/** @returns null without a key; an empty variable counts as not set */
export function modelOfEnvironment(environment: Environment): EnvironmentModel | null {
  if (!environment["OPENAI_API_KEY"]) return null;
  const variables = Object.entries(VARIABLES).filter(([, variable]) => environment[variable]);
  const model = environment["OPENAI_MODEL"] || OPENAI_MODEL;
  const defaults = { id: MODEL_OF_ENVIRONMENT, base_url: OPENAI_URL, model, abilities: abilitiesOf(model) };
  const said = variables.map(([setting, variable]) => [setting, environment[variable]] as const);
  return { settings: { ...defaults, ...Object.fromEntries(said) }, variables };
}

/** Families that are known to see images; of any other name only tool calls are assumed. */
function abilitiesOf(model: string): readonly string[] {
  return /^(gpt-4o|gpt-4\.1|gpt-5|o[134](-|$))/.test(model) ? ["func_call", "vision"] : ["func_call"];
}
