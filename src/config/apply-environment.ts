/** Variables that override the file (api §8). An empty variable counts as not set. */
import { MAIN_TENANT } from "../domain/ids.js";
import { modelOfEnvironment } from "./environment-model.js";
import { type Group, isGroup } from "./group.js";
import type { Environment } from "./interpolate.js";

export interface Overridden {
  readonly value: unknown;
  /** Paths that were set, with the variable each came from. */
  readonly substituted: ReadonlyMap<string, string>;
}

/**
 * BERTH_HOST, BERTH_PORT and BERTH_LOG_LEVEL replace one setting each; BERTH_DATA_DIR moves all that is kept;
 * DOCKER_HOST is the engine's address; BERTH_API_KEY is added as an admin key unless the file has it already; the
 * variables of OpenAI make a model where the file lists none.
 */
export function applyEnvironment(raw: unknown, environment: Environment): Overridden {
  if (raw !== undefined && raw !== null && !isGroup(raw)) return { value: raw, substituted: new Map() };
  const substituted = new Map<string, string>();
  const read = (name: string, path: string): string | undefined => {
    const value = environment[name];
    if (value === undefined || value === "") return undefined;
    substituted.set(path, name);
    return value;
  };
  const { server, storage, log, boxes, models, ...others } = { ...raw };
  const key = environment["BERTH_API_KEY"];
  const directory = read("BERTH_DATA_DIR", "storage.directory");
  const host = read("DOCKER_HOST", "boxes.engines[0].host");
  const value = {
    ...others,
    ...section("server", addKey(server, key === "" ? undefined : key), {
      host: read("BERTH_HOST", "server.host"),
      port: read("BERTH_PORT", "server.port"),
    }),
    ...section("storage", storage, directory === undefined ? {} : { directory, database: null, files: null }),
    ...section("log", log, { level: read("BERTH_LOG_LEVEL", "log.level") }),
    ...section("boxes", host === undefined ? boxes : setHost(boxes, host), {}),
    ...withModels(models, environment, substituted),
  };
  return { value, substituted };
}

/** A section with some settings replaced; a section that is no group is left for the schema to refuse. */
function section(name: string, current: unknown, settings: Group): Group {
  const said = Object.entries(settings).filter(([, value]) => value !== undefined);
  if (current !== undefined && current !== null && !isGroup(current)) return { [name]: current };
  return current === undefined && said.length === 0
    ? {}
    : { [name]: { ...current, ...Object.fromEntries(said) } };
}

function setHost(boxes: unknown, host: string): unknown {
  if (boxes !== undefined && boxes !== null && !isGroup(boxes)) return boxes;
  const engines: unknown = { ...boxes }["engines"];
  if (engines === undefined) return { ...boxes, engines: [{ host }] };
  if (!isList(engines)) return boxes;
  const [first, ...others] = engines;
  return isGroup(first) ? { ...boxes, engines: [{ ...first, host }, ...others] } : boxes;
}

function withModels(models: unknown, environment: Environment, substituted: Map<string, string>): Group {
  const isListed = models !== undefined && !(isList(models) && models.length === 0);
  const found = isListed ? null : modelOfEnvironment(environment);
  if (found === null) return models === undefined ? {} : { models };
  for (const [setting, variable] of found.variables) substituted.set(`models[0].${setting}`, variable);
  return { models: [found.settings] };
}

function addKey(server: unknown, key: string | undefined): unknown {
  if (key === undefined || (server !== undefined && server !== null && !isGroup(server))) return server;
  const keys: unknown = { ...server }["keys"] ?? [];
  if (!isList(keys)) return server;
  if (keys.some((entry) => isGroup(entry) && entry["key"] === key)) return server;
  return { ...server, keys: [...keys, { key, tenant: MAIN_TENANT, role: "admin" }] };
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}
