/** Builds what the runner yields (runs §18). */
import type { Message, ToolCall } from "../../domain/message.js";
import type { RunnerResult, RunWarning } from "../../domain/result.js";
import type { Usage } from "../../domain/usage.js";

type ResultOf<Type extends RunnerResult["type"]> = Extract<RunnerResult, { readonly type: Type }>;
type DataOf<Type extends RunnerResult["type"]> = ResultOf<Type>["data"];

/** The results of one run. */
export class Results {
  readonly #runId: string;

  constructor(runId: string) {
    this.#runId = runId;
  }

  delta(chunk: DataOf<"message.delta">["chunk"]): RunnerResult {
    return { type: "message.delta", data: { chunk }, run_id: this.#runId };
  }

  message(message: Message, history: Message | null): RunnerResult {
    const data = history === null ? { message } : { message, history_message: history };
    return { type: "message.completed", data, run_id: this.#runId };
  }

  started(
    call: ToolCall,
    parameters: Readonly<Record<string, unknown>>,
    assistant: Message | null,
  ): RunnerResult {
    const data = {
      tool_call_id: call.id,
      tool_name: call.function.name,
      parameters: { ...parameters },
      ...(assistant === null ? {} : { assistant_message: assistant }),
    };
    return { type: "tool.call.started", data, run_id: this.#runId };
  }

  ended(data: DataOf<"tool.call.completed">): RunnerResult {
    return { type: "tool.call.completed", data, run_id: this.#runId };
  }

  warning(warning: RunWarning): RunnerResult {
    return { type: "warning", data: warning, run_id: this.#runId };
  }

  completed(data: DataOf<"run.completed">, usage: Usage): RunnerResult {
    return { type: "run.completed", data, run_id: this.#runId, usage: toWire(usage) };
  }

  failed(data: DataOf<"run.failed">, usage: Usage): RunnerResult {
    return { type: "run.failed", data, run_id: this.#runId, usage: toWire(usage) };
  }
}

function toWire(usage: Usage): Usage {
  return { ...usage, turns: [...usage.turns] };
}
