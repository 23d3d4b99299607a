/** MCP servers whose tools pipelines may select (api §8). */
import { z } from "zod";
import { isGroup } from "./group.js";

/** Names under which secrets are kept; the rest of an environment is no secret, and masking it would hide plain words. */
const SECRET_NAME = /secret|token|key|passw|credential|auth|cookie|session|private/iu;

const variable = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/u);
const header = z.string().regex(/^[A-Za-z][A-Za-z0-9-]{0,127}$/u);

export const mcpServerSchema = z
  .strictObject({
    id: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$/u)
      .meta({
        description: "Name of the server in grants: `mcp:<id>/<tool>`.",
        allowed: "1 to 32 letters, digits, underscores and dashes",
      }),
    where: z.enum(["service", "box"]).default("service").meta({
      description:
        "`service`: the service itself speaks to it, one connection for all; `box`: its command runs inside the box of each run that uses it, as the box user.",
    }),
    transport: z.enum(["stdio", "http"]).default("stdio").meta({
      description: "`stdio`: a program; `http`: a streamable HTTP address. In a box only `stdio`.",
    }),
    command: z.array(z.string().min(1).max(4096)).max(64).default([]).meta({
      description: "Program and arguments of a stdio server. Beside the service with the service's rights.",
    }),
    env: z.record(variable, z.string().max(32_768)).default({}).meta({
      description:
        "Variables of the program. Nothing of the service's own environment is passed on; in a box everything there can read them.",
    }),
    url: z
      .string()
      .regex(/^https?:\/\/[^\s]+$/u, { abort: true })
      .refine((address) => URL.canParse(address))
      .nullable()
      .default(null)
      .meta({
        description:
          "Address of an http server. One in a private range has to be listed in `outbound.allowed_private_hosts`.",
        allowed: "an http or https address, or null",
      }),
    headers: z.record(header, z.string().max(8192)).default({}).meta({
      description: "Headers of every request to an http server.",
      secret: true,
    }),
    agent_read: z.boolean().default(true).meta({
      description:
        "Whether agents may get tools that read the server's resources, `list_mcp_resources_<id>` and `read_mcp_resource_<id>`.",
    }),
  })
  .meta({ description: "An MCP server." });
export type McpServerConfig = z.infer<typeof mcpServerSchema>;

/** What is secret in the environments and headers of servers. @param servers as far as they have been checked */
export function secretsOfServers(servers: unknown): readonly string[] {
  if (!Array.isArray(servers)) return [];
  return servers.flatMap((server: unknown) => {
    if (!isGroup(server)) return [];
    const named = textsOf(server["env"]).filter(([name]) => SECRET_NAME.test(name));
    // `Bearer abc`: what counts is shown by itself as well.
    const credentials = textsOf(server["headers"]).flatMap(([, value]) => value.split(/\s+/u).slice(1));
    return [...named.map(([, value]) => value), ...credentials];
  });
}

function textsOf(group: unknown): readonly (readonly [string, string])[] {
  if (!isGroup(group)) return [];
  return Object.entries(group).flatMap(([name, value]) =>
    typeof value === "string" ? [[name, value] as const] : [],
  );
}
