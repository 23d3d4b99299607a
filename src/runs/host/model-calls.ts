/** `invoke_llm` and `invoke_llm_stream`: authorised by model and operation, usage counted here (runs §15.5). */
import type { ModelOperation, ModelResource } from "../../domain/resources.js";
import { addTurn, NO_USAGE, type TurnUsage, type Usage } from "../../domain/usage.js";
import type { ChatChunk, ChatModel, ChatReply, ChatRequest } from "../../ports/chat-model.js";
import type { CallOptions } from "../../ports/options.js";
import type { ModelCall } from "../../ports/run-host.js";
import type { RunGate } from "./run-gate.js";

export interface ModelCallDeps {
  readonly gate: RunGate;
  readonly resources: readonly ModelResource[];
  readonly models: ReadonlyMap<string, ChatModel>;
}

export class ModelCalls {
  readonly #deps: ModelCallDeps;
  #usage: Usage = NO_USAGE;

  constructor(deps: ModelCallDeps) {
    this.#deps = deps;
  }

  /** Of every call so far, whether or not the runner reported it. */
  get usage(): Usage {
    return this.#usage;
  }

  async invoke(call: ModelCall, options: CallOptions): Promise<ChatReply> {
    const { model, request } = this.#authorise(call, "invoke");
    using linked = this.#deps.gate.link(options);
    const reply = await model.complete(request, linked);
    this.#count(reply.usage);
    return reply;
  }

  async *stream(call: ModelCall, options: CallOptions): AsyncGenerator<ChatChunk, void> {
    const { model, request } = this.#authorise(call, "stream");
    using linked = this.#deps.gate.link(options);
    let usage: TurnUsage | null = null;
    let hasChunks = false;
    try {
      for await (const chunk of model.stream(request, linked)) {
        hasChunks = true;
        usage = chunk.usage ?? usage;
        yield chunk;
      }
    } finally {
      if (hasChunks) this.#count(usage);
    }
  }

  #authorise(call: ModelCall, operation: ModelOperation): { model: ChatModel; request: ChatRequest } {
    this.#deps.gate.check();
    const resource = this.#deps.resources.find(({ model_id }) => model_id === call.modelId);
    const model = this.#deps.models.get(call.modelId);
    if (resource === undefined || model === undefined || !resource.operations.includes(operation))
      throw this.#deps.gate.refuse(`${operation} of the model "${call.modelId.slice(0, 100)}"`);
    const { messages, maxOutputTokens } = call;
    const tools = resource.abilities.includes("func_call") ? call.tools : [];
    return { model, request: { messages, tools, maxOutputTokens } };
  }

  #count(usage: TurnUsage | null): void {
    this.#usage = addTurn(this.#usage, usage);
  }
}
