/** What a runner package imports as `berth/plugin-sdk`: it knows nothing of the service (types in index.d.mts). */

/** A refusal or failure of the host: `code` is one of runs §15.5, `details.code` the service's own, finer one. */
export class HostError extends Error {
  /** @param {{ code: string, message: string, retryable: boolean, details?: Record<string, unknown> }} facts */
  constructor({ code, message, retryable, details }) {
    super(message);
    this.name = "HostError";
    this.code = code;
    this.retryable = retryable;
    this.details = details ?? {};
  }
}

/**
 * Checks the shape of a package and gives it back, so that a slip shows when the package is loaded.
 * @template {import("./index.d.mts").PluginDefinition} Definition
 * @param {Definition} definition
 * @returns {Definition}
 */
export function definePlugin(definition) {
  const { runners = {}, tools = {}, onEvent } = definition;
  /** @type {Readonly<Record<string, unknown>>} */
  const functions = { ...runners, ...tools, ...(onEvent === undefined ? {} : { onEvent }) };
  for (const [name, value] of Object.entries(functions))
    if (typeof value !== "function") throw new TypeError(`"${name}" of the plugin is not a function.`);
  return definition;
}

/** @param {string} text the whole text so far @returns a `message.delta` */
export function delta(text) {
  return { type: "message.delta", data: { chunk: { role: "assistant", content: text } } };
}

/** @param {string} text @param {readonly string[]} [fileIds] @returns a `message.completed` */
export function reply(text, fileIds) {
  const data = { message: { role: "assistant", content: text } };
  return { type: "message.completed", data: fileIds === undefined ? data : { ...data, file_ids: fileIds } };
}

/**
 * @param {{ tool_call_id: string, tool_name: string, parameters: Record<string, unknown> }} call
 * @returns a `tool.call.started`
 */
export function toolStarted({ tool_call_id, tool_name, parameters }) {
  return { type: "tool.call.started", data: { tool_call_id, tool_name, parameters } };
}

/**
 * @param {{ tool_call_id: string, tool_name: string }} call
 * @param {import("./index.d.mts").ToolOutcome} outcome as `host.callTool` gave it
 * @returns a `tool.call.completed`
 */
export function toolCompleted({ tool_call_id, tool_name }, outcome) {
  const said = outcome.ok ? { result: outcome.result } : { error: outcome.error };
  return { type: "tool.call.completed", data: { tool_call_id, tool_name, ...said } };
}

/** @param {"stop" | "terminate" | "max_iterations" | "loop"} [finishReason] @returns a `run.completed` */
export function completed(finishReason = "stop") {
  return { type: "run.completed", data: { finish_reason: finishReason } };
}

/**
 * @param {string} error one sentence for people
 * @param {{ code?: string, retryable?: boolean }} [facts]
 * @returns a `run.failed`
 */
export function failed(error, { code = "runner.error", retryable = false } = {}) {
  return { type: "run.failed", data: { error, code, retryable } };
}
