/** The list of a connection as tool resources, and one call through it: shared by servers beside the service and in boxes. */
import { McpError } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import { ServiceError } from "../../domain/errors.js";
import { takeForeignTools } from "../../domain/foreign-tools.js";
import type { JsonSchema, ToolEffect, ToolOutcome } from "../../domain/tool.js";
import type { CallOptions } from "../../ports/options.js";
import type { RunToolBox, SourcedCall, ToolListing } from "../../ports/tool-source.js";
import type { McpConnection } from "./connection.js";
import { describeToolResult } from "./describe-result.js";
import { readingTools, readResources } from "./reading-tools.js";

const MAX_REASON_CHARS = 500;

export interface ListedServer {
  readonly id: string;
  readonly agentRead: boolean;
  readonly effect: ToolEffect;
}

export async function listServer(
  connection: McpConnection,
  { id, agentRead, effect }: ListedServer,
  options: CallOptions,
): Promise<ToolListing> {
  const reading = agentRead && connection.hasResources ? readingTools(id, effect) : [];
  const taken = takeForeignTools(await connection.tools(options), { source: "mcp", source_id: id, effect });
  const own = new Set(reading.map(({ tool_name }) => tool_name));
  return {
    tools: [...taken.tools.filter(({ tool_name }) => !own.has(tool_name)), ...reading],
    warnings: taken.warnings,
  };
}

/** What the server refuses is an outcome. @throws what the connection fails with, and the caller's abort */
export async function callServer(
  connection: McpConnection,
  { call, box }: { readonly call: SourcedCall; readonly box: RunToolBox | null },
  options: CallOptions,
): Promise<ToolOutcome> {
  const { id: callId, resource: tool, input } = call;
  try {
    if (tool.reads_resources === true)
      return await readResources(connection, { tool, input, callId, box }, options);
    const answer = await connection.call(tool.tool_name, withoutNulls(input, tool.parameters), options);
    return await describeToolResult(answer, { callId, box }, options);
  } catch (error) {
    options.signal.throwIfAborted();
    if (error instanceof McpError && !connection.isClosed)
      return { ok: false, error: error.message.slice(0, MAX_REASON_CHARS) };
    if (error instanceof z.ZodError) return { ok: false, error: "The server's answer was no tool result." };
    throw error;
  }
}

/** Models write null for what they leave out; servers check their schema, where most fields take no null. */
function withoutNulls(input: SourcedCall["input"], schema: JsonSchema | null): SourcedCall["input"] {
  const required: unknown = schema?.["required"];
  const needed = Array.isArray(required) ? required : [];
  const fields = fieldsSchema.parse(schema?.["properties"]);
  return Object.fromEntries(
    Object.entries(input).filter(
      ([name, value]) => value !== null || needed.includes(name) || !isOneType(fields[name]),
    ),
  );
}

const fieldsSchema = z.record(z.string(), z.unknown()).catch({});

/** Whether the schema says one plain type, and so no null. */
function isOneType(field: unknown): boolean {
  return z.object({ type: z.string().refine((type) => type !== "null") }).safeParse(field).success;
}

/** For the model and for warnings: nothing of hosts, paths and addresses. */
export function describeFailure(id: string, error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  return new ServiceError("outbound.failed", `The MCP server "${id}" could not be reached.`, {
    cause: error,
  });
}
