/** Two tools per server that read its resources; they stand beside the server's own tools and are called here (runs §15.2). */
import { z } from "zod";
import { safeToolName } from "../../domain/foreign-tools.js";
import type { ToolEffect, ToolOutcome, ToolResource } from "../../domain/tool.js";
import type { CallOptions } from "../../ports/options.js";
import type { McpConnection } from "./connection.js";
import { describeContents, type ResultOf } from "./describe-result.js";

const MAX_LISTED = 500;

const pageSchema = z.object({
  resources: z.array(
    z.object({
      uri: z.string().max(4096),
      name: z.string().catch(""),
      mimeType: z.string().optional().catch(undefined),
      description: z.string().optional().catch(undefined),
      size: z.number().optional().catch(undefined),
    }),
  ),
  nextCursor: z.string().optional(),
});

/** Named after the server, so that those of several servers can stand beside one another. */
function namesOf(serverId: string): { readonly list: string; readonly read: string } {
  return {
    list: safeToolName(`list_mcp_resources_${serverId}`),
    read: safeToolName(`read_mcp_resource_${serverId}`),
  };
}

export function readingTools(serverId: string, effect: ToolEffect): readonly ToolResource[] {
  const names = namesOf(serverId);
  const shared = { source: "mcp", source_id: serverId, effect, reads_resources: true } as const;
  return [
    {
      ...shared,
      tool_name: names.list,
      description: `Lists the resources that the MCP server "${serverId}" offers for reading: uri, name, type. Give the cursor of an answer to get its next page.`,
      parameters: {
        type: "object",
        properties: { cursor: { type: "string", description: "Where the next page begins." } },
        required: [],
      },
    },
    {
      ...shared,
      tool_name: names.read,
      description: `Reads one resource of the MCP server "${serverId}" by its uri. Text comes as text; other content is kept as a file of the box where there is one.`,
      parameters: {
        type: "object",
        properties: { uri: { type: "string", description: "The uri as it was listed." } },
        required: ["uri"],
      },
    },
  ];
}

export interface ReadingCall extends ResultOf {
  readonly tool: ToolResource;
  readonly input: Readonly<Record<string, unknown>>;
}

export async function readResources(
  connection: McpConnection,
  { tool, input, ...of }: ReadingCall,
  options: CallOptions,
): Promise<ToolOutcome> {
  const isList = tool.tool_name === namesOf(tool.source_id).list;
  if (isList) {
    const cursor = input["cursor"];
    const params = typeof cursor === "string" && cursor !== "" ? { cursor } : {};
    const page = pageSchema.parse(await connection.request("resources/list", params, options));
    return {
      ok: true,
      result: { resources: page.resources.slice(0, MAX_LISTED), next_cursor: page.nextCursor ?? null },
    };
  }
  const { uri } = input;
  if (typeof uri !== "string") return { ok: false, error: "uri must be a text, as it was listed." };
  return describeContents(await connection.request("resources/read", { uri }, options), of, options);
}
