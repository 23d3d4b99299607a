/** Runs one prepared call and makes of its outcome what the model and the run's events get (local-agent §7, §9). */
import { ServiceError } from "../../domain/errors.js";
import type { ToolCall } from "../../domain/message.js";
import type { ToolOutcome } from "../../domain/tool.js";
import type { Clock } from "../../ports/clock.js";
import type { CallOptions } from "../../ports/options.js";
import type { RunHost } from "../../ports/run-host.js";
import { boundResult, isTooLong, wrapResult } from "./bound-result.js";
import { errorText, isStop, phaseFailure } from "./failure.js";
import type { AgentHooks } from "./hooks.js";
import { callKey, type LoopGuard, WARN_AT, warningText } from "./loop-guard.js";
import type { PreparedCall } from "./prepare-calls.js";
import { toToolText } from "./tool-text.js";

export interface CallOutcome {
  readonly call: ToolCall;
  /** What the model sees. */
  readonly modelText: string;
  /** For the loop guard. */
  readonly key: string;
  readonly terminate: boolean;
  /** For `tool.call.completed`. */
  readonly event: { readonly result: Readonly<Record<string, unknown>> } | { readonly error: string };
  readonly durationMs: number;
}

export interface ExecuteDeps {
  readonly host: RunHost;
  readonly clock: Clock;
  readonly hooks: AgentHooks;
  readonly guard: LoopGuard;
  readonly maxResultChars: number;
}

interface SaveOptions extends CallOptions {
  readonly host: RunHost;
}

/** @throws what ends the run: no time left, the run's stop, a hook that failed */
export async function executeCall(
  prepared: PreparedCall,
  deps: ExecuteDeps,
  options: CallOptions,
): Promise<CallOutcome> {
  const { call } = prepared;
  const startedAt = deps.clock.elapsed();
  const text = toToolText(await runPlan(prepared, deps, options));
  const durationMs = deps.clock.elapsed() - startedAt;
  const { maxResultChars: maxChars, host, guard } = deps;
  const savedPath = isTooLong(text, maxChars)
    ? await saveText(call.id, text.text, { host, ...options })
    : null;
  const { modelText, eventResult } = boundResult(text, { maxChars, savedPath });
  const { name, arguments: argumentsText } = call.function;
  const key = callKey({ name, argumentsText, modelText });
  const count = guard.countOf(key);
  return {
    call,
    modelText: count < WARN_AT ? modelText : `${modelText}\n${warningText(count)}`,
    key,
    terminate: text.terminate,
    event: text.isError ? { error: modelText } : { result: wrapResult(eventResult) },
    durationMs: Math.max(0, durationMs),
  };
}

async function runPlan(
  prepared: PreparedCall,
  deps: ExecuteDeps,
  options: CallOptions,
): Promise<ToolOutcome> {
  const { call, parameters, plan } = prepared;
  if (plan.kind === "refuse") return { ok: false, error: plan.error };
  const request = { id: call.id, name: call.function.name, parameters };
  try {
    await deps.hooks.beforeTool?.(request);
  } catch (error) {
    throw phaseFailure("runner.tool_error", error);
  }
  try {
    return await deps.host.callTool(request, options);
  } catch (error) {
    options.signal.throwIfAborted();
    if (isStop(error)) throw error;
    return { ok: false, error: explain(error) };
  }
}

/** A refusal speaks for itself; everything else is a tool that failed (§7.1). */
function explain(error: unknown): string {
  if (!(error instanceof ServiceError)) return `Tool execution failed: ${errorText(error)}`;
  const isRefusal = error.code === "host.unauthorized" || error.code === "host.not_found";
  const text = error.hint === undefined ? errorText(error) : `${errorText(error)} ${error.hint}`;
  return isRefusal ? text : `Tool execution failed: ${text}`;
}

/** A text that cannot be saved is cut all the same. */
async function saveText(callId: string, text: string, options: SaveOptions): Promise<string | null> {
  try {
    return await options.host.saveToolResult(callId, text, options);
  } catch (error) {
    options.signal.throwIfAborted();
    if (isStop(error)) throw error;
    return null;
  }
}
