/** `get_tool_detail`, `call_tool`, and where results that are too long for a model go. */
import { z } from "zod";
import { type HostActionTable, one } from "./define-action.js";

const toolName = z.string().min(1).max(200);
/** Names a file of the box, too. */
const callId = z.string().regex(/^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$/);

export const TOOL_ACTIONS: HostActionTable = {
  get_tool_detail: one(z.strictObject({ tool_name: toolName }), (host, { tool_name }, options) =>
    host.getToolDetail(tool_name, options),
  ),
  call_tool: one(
    z.strictObject({
      tool_call_id: callId,
      tool_name: toolName,
      parameters: z.record(z.string(), z.unknown()),
    }),
    (host, { tool_call_id: id, tool_name: name, parameters }, options) =>
      host.callTool({ id, name, parameters }, options),
  ),
  save_tool_result: one(
    z.strictObject({ tool_call_id: callId, text: z.string() }),
    (host, { tool_call_id, text }, options) => host.saveToolResult(tool_call_id, text, options),
  ),
};
