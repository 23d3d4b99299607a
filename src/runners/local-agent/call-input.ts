/** Reads the input of one call of a known tool, or says what is wrong with it (local-agent §7.1). Pure. */
import type { ToolDefinition } from "../../domain/tool.js";
import type { AssembledCall } from "./assemble-calls.js";
import { describeFields, exampleInput, findInputFault } from "./check-input.js";
import { type JsonObject, parseArguments } from "./parse-arguments.js";

export type CallInput =
  /** Several objects are several calls of the tool. */
  | { readonly ok: true; readonly objects: readonly JsonObject[]; readonly asReceived: boolean }
  | { readonly ok: false; readonly error: string; readonly isCut: boolean };

/** @param isCut The reply stopped at the token limit inside this call, even if it happens to parse (§12.11). */
export function readCallInput(call: AssembledCall, tool: ToolDefinition, isCut: boolean): CallInput {
  const parsed = parseArguments(call.argumentsText);
  if (isCut || parsed.kind === "cut") return refuse(cutText(tool), true);
  switch (parsed.kind) {
    case "invalid":
      return refuse(
        `Invalid JSON arguments for the tool "${tool.name}": nothing was executed. ${expected(tool)}`,
        false,
      );
    case "not_object":
      return refuse(
        `The tool "${tool.name}" needs a JSON object as arguments, but ${parsed.came} came. ` +
          `Example: ${exampleInput(tool.parameters)}. ${expected(tool)}`,
        false,
      );
    default:
      return checkObjects(parsed.objects, tool, parsed.asReceived);
  }
}

function checkObjects(objects: readonly JsonObject[], tool: ToolDefinition, asReceived: boolean): CallInput {
  for (const input of objects) {
    const fault = findInputFault(tool.parameters, input);
    if (fault === null) continue;
    const several =
      objects.length === 1 ? "" : ` ${objects.length} objects came at once and none was executed.`;
    return refuse(
      `Invalid arguments for the tool "${tool.name}": ${fault}.${several} ${expected(tool)}`,
      false,
    );
  }
  return { ok: true, objects, asReceived };
}

function cutText(tool: ToolDefinition): string {
  return (
    `Invalid JSON arguments for the tool "${tool.name}": the reply was cut before they were complete, ` +
    `so nothing was executed. ${expected(tool)} Send smaller pieces, in several calls.`
  );
}

function expected(tool: ToolDefinition): string {
  return `Expected fields: ${describeFields(tool.parameters)}.`;
}

function refuse(error: string, isCut: boolean): CallInput {
  return { ok: false, error, isCut };
}
