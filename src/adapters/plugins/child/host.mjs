/** The host object that a runner gets: actions of runs §15.5 under the names of the SDK. */
import { randomUUID } from "node:crypto";

/** @typedef {{ readonly signal?: AbortSignal } | undefined} Options */

export class Host {
  #runId;
  #calls;
  #signal;

  /**
   * @param {string} runId
   * @param {import("./host-calls.mjs").HostCalls} calls
   * @param {AbortSignal} signal of the run
   */
  constructor(runId, calls, signal) {
    this.#runId = runId;
    this.#calls = calls;
    this.#signal = signal;
  }

  /** @param {string} action @param {unknown} [payload] @param {Options} [options] */
  call(action, payload = {}, options) {
    return this.#calls.call({ run_id: this.#runId, action, payload }, this.#signals(options));
  }

  /** @param {unknown} model @param {Options} [options] */
  invokeModel(model, options) {
    return this.call("invoke_llm", model, options);
  }

  /** @param {unknown} payload @param {Options} [options] */
  streamModel(payload, options) {
    const request = { run_id: this.#runId, action: "invoke_llm_stream", payload };
    return this.#calls.stream(request, this.#signals(options));
  }

  /** @param {string} toolName @param {Options} [options] */
  getToolDetail(toolName, options) {
    return this.call("get_tool_detail", { tool_name: toolName }, options);
  }

  /** @param {Readonly<Record<string, unknown>>} tool @param {Options} [options] */
  callTool(tool, options) {
    const payload = { tool_call_id: `call_${randomUUID()}`, parameters: {}, ...tool };
    return this.call("call_tool", payload, options);
  }

  /** @param {Options} [options] */
  getPrompt(options) {
    return this.call("get_prompt", {}, options);
  }

  /** @param {unknown} [page] @param {Options} [options] */
  historyPage(page, options) {
    return this.call("history_page", page, options);
  }

  /** @param {unknown} search @param {Options} [options] */
  historySearch(search, options) {
    return this.call("history_search", search, options);
  }

  /** @param {unknown} [pull] @param {Options} [options] */
  pullSteering(pull, options) {
    return this.call("steering_pull", pull, options);
  }

  /** @param {unknown} request @param {Options} [options] */
  retrieveKnowledge(request, options) {
    return this.call("retrieve_knowledge", request, options);
  }

  /** @param {unknown} request @param {Options} [options] */
  rerank(request, options) {
    return this.call("rerank", request, options);
  }

  /** @param {unknown} file @param {Options} [options] */
  captureFile(file, options) {
    return this.call("capture_file", file, options);
  }

  /** @param {{ scope: string, key: string }} entry @param {Options} [options] */
  getState({ scope, key }, options) {
    return this.call("state_get", { scope, key }, options);
  }

  /** @param {{ scope: string, key: string, value: unknown }} entry @param {Options} [options] */
  setState({ scope, key, value }, options) {
    return this.call("state_set", { scope, key, value }, options);
  }

  /** @param {Options} [options] */
  bindBox(options) {
    return this.call("box_bind", {}, options);
  }

  /** @param {Options} [options] */
  importAttachments(options) {
    return this.call("import_attachments", {}, options);
  }

  /** @param {Options} options */
  #signals(options) {
    return options?.signal === undefined ? [this.#signal] : [this.#signal, options.signal];
  }
}
