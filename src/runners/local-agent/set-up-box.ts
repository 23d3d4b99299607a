/** Gets the run its box and its files before the model is asked (box §4.5–§4.8, §7). */
import { ServiceError } from "../../domain/errors.js";
import type { RunContext } from "../../domain/run-context.js";
import type { CallOptions } from "../../ports/options.js";
import type { BoundBox, ImportedAttachment, RunHost } from "../../ports/run-host.js";
import { isStop } from "./failure.js";

export interface BoxSetup {
  /** Null: the run has no box, and no tool of the box is offered. */
  readonly box: BoundBox | null;
  readonly imported: readonly ImportedAttachment[];
}

const NATIVE_TOOLS = new Set(["exec", "read", "write", "edit", "glob", "grep"]);
const SWITCH_OFF = "The box can be switched off for this runner with box-enabled: false.";

/** @throws ServiceError the box's own code, with the hint that the box can be switched off */
export async function setUpBox(
  context: RunContext,
  { host, boxEnabled }: { readonly host: RunHost; readonly boxEnabled: boolean },
  options: CallOptions,
): Promise<BoxSetup> {
  if (!boxEnabled || !wantsBox(context)) return { box: null, imported: [] };
  if (!context.context.available_apis.box_export_paths)
    throw new ServiceError(
      "runner.error",
      "The host cannot deliver files from a box (box_export_paths is missing), so the box tools are not set up.",
      { hint: SWITCH_OFF },
    );
  try {
    const box = await host.bindBox(options);
    const imported = context.input.attachments.length === 0 ? [] : await host.importAttachments(options);
    return { box, imported };
  } catch (error) {
    options.signal.throwIfAborted();
    throw isStop(error) ? error : withHint(error);
  }
}

function wantsBox({ context, resources }: RunContext): boolean {
  return context.available_apis.box && hasBoxTool(resources);
}

function hasBoxTool({ tools }: RunContext["resources"]): boolean {
  return tools.some(({ source, tool_name }) => source === "native" && NATIVE_TOOLS.has(tool_name));
}

function withHint(error: unknown): unknown {
  if (!(error instanceof ServiceError)) return error;
  const { code, message, details, retryable, hint } = error;
  return new ServiceError(code, message, {
    hint: hint === undefined ? SWITCH_OFF : `${hint} ${SWITCH_OFF}`,
    details,
    retryable,
    cause: error,
  });
}
