/** Turns the calls of a reply into calls that run and calls that are refused, before anything runs (local-agent §7.1, §12.9–§12.14). */
import { ServiceError } from "../../domain/errors.js";
import type { ToolCall } from "../../domain/message.js";
import type { ToolResource } from "../../domain/tool.js";
import type { IdSource } from "../../ports/id-source.js";
import type { CallOptions } from "../../ports/options.js";
import type { RunHost } from "../../ports/run-host.js";
import type { Reply } from "./accumulate-stream.js";
import type { AssembledCall } from "./assemble-calls.js";
import { readCallInput } from "./call-input.js";
import { isStop } from "./failure.js";
import { missingToolText, nearestName } from "./missing-tool.js";
import type { OfferedTool, ToolOffer } from "./offer-tools.js";
import { isObject, type JsonObject } from "./parse-arguments.js";

export type CallPlan =
  | { readonly kind: "execute"; readonly tool: ToolResource }
  /** `isCut`: the reply ended before the call was whole (§12.12). */
  | { readonly kind: "refuse"; readonly error: string; readonly isCut: boolean };

export interface PreparedCall {
  /** As it is stored and sent back. */
  readonly call: ToolCall;
  readonly parameters: JsonObject;
  readonly plan: CallPlan;
}

export interface PrepareDeps {
  readonly host: RunHost;
  readonly ids: IdSource;
  readonly offer: ToolOffer;
  /** Ids of the conversation so far; the new ones are added. */
  readonly usedIds: Set<string>;
}

/** Calls of one reply that run. What waits for what is decided over all of them at once, and each one is an entry of the history. */
export const MAX_CALLS_PER_REPLY = 128;

const OUTPUT_LIMIT = /^(length|max_tokens|max_output_tokens|model_length)$/i;

/** Whether the model stopped because its output limit struck. */
export function stoppedAtLimit(reply: Pick<Reply, "finishReason">): boolean {
  return reply.finishReason !== null && OUTPUT_LIMIT.test(reply.finishReason);
}

export async function prepareCalls(
  reply: Reply,
  deps: PrepareDeps,
  options: CallOptions,
): Promise<readonly PreparedCall[]> {
  const told = new Set<string>();
  const prepared: PreparedCall[] = [];
  for (const [position, call] of reply.calls.entries()) {
    const isCut = stoppedAtLimit(reply) && position === reply.calls.length - 1;
    const tool = deps.offer.tools.get(call.name);
    if (prepared.length >= MAX_CALLS_PER_REPLY) prepared.push(refused(call, tooManyText(reply), deps));
    else if (tool !== undefined) prepared.push(...prepareKnown(call, { tool, isCut, deps }));
    else {
      const error = await explainMissing(call.name, { deps, isRepeated: told.has(call.name) }, options);
      told.add(call.name);
      prepared.push(refused(call, error, deps));
    }
  }
  return prepared.map((one, position) =>
    position < MAX_CALLS_PER_REPLY || one.plan.kind === "refuse"
      ? one
      : {
          call: one.call,
          parameters: one.parameters,
          plan: { kind: "refuse", error: tooManyText(reply), isCut: false },
        },
  );
}

function tooManyText({ calls }: Reply): string {
  return `Not executed: only the first ${MAX_CALLS_PER_REPLY} tool calls of one reply run, and this reply made ${calls.length} calls. Make the rest in the next reply, or do the work in one command.`;
}

/** Every call gets the same answer: nothing of it runs (§6.6). */
export function refuseCalls(
  reply: Reply,
  error: string,
  deps: Pick<PrepareDeps, "ids" | "usedIds">,
): readonly PreparedCall[] {
  return reply.calls.map((call) => refused(call, error, deps));
}

function prepareKnown(
  call: AssembledCall,
  { tool, isCut, deps }: { readonly tool: OfferedTool; readonly isCut: boolean; readonly deps: PrepareDeps },
): readonly PreparedCall[] {
  const input = readCallInput(call, tool.definition, isCut);
  if (!input.ok)
    return [
      {
        call: toToolCall(call, call.argumentsText, deps),
        parameters: {},
        plan: { kind: "refuse", error: input.error, isCut: input.isCut },
      },
    ];
  const plan: CallPlan = { kind: "execute", tool: tool.resource };
  return input.objects.map((parameters) => {
    const text = input.asReceived ? call.argumentsText : JSON.stringify(parameters);
    return { call: toToolCall(call, text, deps), parameters, plan };
  });
}

function refused(
  call: AssembledCall,
  error: string,
  deps: Pick<PrepareDeps, "ids" | "usedIds">,
): PreparedCall {
  return {
    call: toToolCall(call, call.argumentsText, deps),
    parameters: {},
    plan: { kind: "refuse", error, isCut: false },
  };
}

async function explainMissing(
  name: string,
  { deps, isRepeated }: { readonly deps: PrepareDeps; readonly isRepeated: boolean },
  options: CallOptions,
): Promise<string> {
  if (isRepeated) return `The tool "${name}" does not exist or is not granted, as said above.`;
  if (deps.offer.idle.has(name))
    return `The tool "${name}" is not available in this run: it needs a box, and this run has none.`;
  const available = [...deps.offer.tools.keys()];
  if (await exists(name, deps.host, options))
    return `The tool "${name}" is not authorized in this run. Available tools: ${available.join(", ") || "none"}.`;
  return missingToolText(name, available, nearestName(name, available));
}

/** Only the host knows what exists outside the run's resources. */
async function exists(name: string, host: RunHost, options: CallOptions): Promise<boolean> {
  try {
    await host.getToolDetail(name, options);
    return true;
  } catch (error) {
    if (isStop(error) || options.signal.aborted) throw error;
    return error instanceof ServiceError && error.code === "host.unauthorized";
  }
}

/** The provider's id if it is new in the conversation, else one of our own (§12.13). */
function toToolCall(
  call: AssembledCall,
  argumentsText: string,
  { ids, usedIds }: Pick<PrepareDeps, "ids" | "usedIds">,
): ToolCall {
  const isTaken = call.id === null || usedIds.has(call.id);
  const id = isTaken ? `call_${ids.randomHex(24)}` : call.id;
  usedIds.add(id);
  const { function: inner, ...extra } = call.extra;
  return {
    ...extra,
    id,
    type: "function",
    function: { ...(isObject(inner) ? inner : {}), name: call.name, arguments: argumentsText },
  };
}
