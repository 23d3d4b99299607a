/** A runner that plays what a test wrote: a list of results, or a function of its own. */

import type { RunnerResult } from "../../src/domain/result.js";
import type { RunContext } from "../../src/domain/run-context.js";
import type { RunnerDescriptor } from "../../src/domain/runner-manifest.js";
import type { CallOptions } from "../../src/ports/options.js";
import type { RunHost } from "../../src/ports/run-host.js";
import type { Runner } from "../../src/ports/runner.js";
import { aDescriptor } from "../support/builders.js";

/** What a runner may yield: results, and what a faulty one takes for a result. */
export type Play = (context: RunContext, host: RunHost, options: CallOptions) => AsyncIterable<unknown>;

/** A result without the run id, which the scripted runner knows. */
export interface ScriptedResult {
  readonly type: string;
  readonly data: unknown;
  readonly sequence?: unknown;
  readonly usage?: unknown;
}

export interface Script {
  readonly descriptor?: RunnerDescriptor;
  readonly results?: readonly ScriptedResult[];
  readonly play?: Play;
  readonly template?: string | null;
}

export class ScriptedRunner implements Runner {
  readonly descriptor: RunnerDescriptor;
  /** Contexts of the runs so far. */
  readonly contexts: RunContext[] = [];
  readonly #play: Play;
  readonly #template: string | null;

  constructor(script: Script = {}) {
    this.descriptor = script.descriptor ?? aDescriptor();
    this.#template = script.template ?? null;
    this.#play = script.play ?? ((context) => yieldResults(context, script.results ?? [completed()]));
  }

  findConfigFaults(): readonly string[] {
    return [];
  }

  planBox(): { readonly template: string } | null {
    return this.#template === null ? null : { template: this.#template };
  }

  async *run(context: RunContext, host: RunHost, options: CallOptions): AsyncGenerator<RunnerResult, void> {
    this.contexts.push(context);
    for await (const item of this.#play(context, host, options)) if (passesForResult(item)) yield item;
  }
}

/** A runner is foreign code: what it yields need not be a result, and the host is tested with that. */
function passesForResult(_item: unknown): _item is RunnerResult {
  return true;
}

async function* yieldResults(
  context: RunContext,
  results: readonly ScriptedResult[],
): AsyncGenerator<unknown, void> {
  for (const result of results) yield { ...result, run_id: context.run_id };
}

export function delta(content: string): ScriptedResult {
  return { type: "message.delta", data: { chunk: { role: "assistant", content } } };
}

export function message(content: string): ScriptedResult {
  return { type: "message.completed", data: { message: { role: "assistant", content } } };
}

export function completed(data: Readonly<Record<string, unknown>> = {}): ScriptedResult {
  return { type: "run.completed", data };
}

export function failed(code: string, data: Readonly<Record<string, unknown>> = {}): ScriptedResult {
  return { type: "run.failed", data: { error: "It failed.", code, retryable: false, ...data } };
}
