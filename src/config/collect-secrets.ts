/** The values of a configuration that nobody may see in results, events and logs (box §10.7). */
import { settingsSchema } from "./config-schema.js";
import { nodeAt, type SchemaNode, toSchemaNode } from "./describe-setting.js";
import { isGroup } from "./group.js";
import { secretsOfServers } from "./mcp-settings.js";

/**
 * @param settings as checked by the schema, whole or in part
 * @returns texts of the settings that the schema marks with `secret: true`, passwords in addresses, and what is secret
 * by its name in environments of MCP servers
 */
export function collectSecrets(settings: unknown): readonly string[] {
  const ofServers = isGroup(settings) ? secretsOfServers(settings["mcp_servers"]) : [];
  return [...secretsIn(settings, toSchemaNode(settingsSchema), false), ...ofServers];
}

function* secretsIn(value: unknown, node: SchemaNode | null, isSecret: boolean): Generator<string> {
  const isMarked = isSecret || node?.["secret"] === true;
  if (typeof value === "string") {
    if (isMarked) yield value;
    yield* passwordIn(value);
  } else
    for (const [part, item] of membersOf(value))
      yield* secretsIn(item, node === null ? null : nodeAt(node, [part]), isMarked);
}

function membersOf(value: unknown): readonly (readonly [part: string | number, item: unknown])[] {
  if (Array.isArray(value)) return value.map((item: unknown, index) => [index, item]);
  return isGroup(value) ? Object.entries(value) : [];
}

/** As it stands in the address, and as it is sent. */
function passwordIn(text: string): readonly string[] {
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) && URL.canParse(text) ? new URL(text) : null;
  if (url === null || url.password === "") return [];
  return [url.password, decode(url.password)];
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
