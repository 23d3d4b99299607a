/**
 * A brain. Contract (test/contracts/runner.ts):
 * - keeps no state between or across runs (runs §3.5);
 * - asks for everything through `host`; the context it gets is frozen;
 * - yields results and returns; consumers use `for await`, so what a runner holds is freed in `finally`;
 * - ends early when `signal` aborts. It never needs to yield a terminal result for an abort: the host decides why a
 *   run was stopped.
 */
import type { RunnerResult } from "../domain/result.js";
import type { RunContext } from "../domain/run-context.js";
import type { RunnerDescriptor } from "../domain/runner-manifest.js";
import type { CallOptions } from "./options.js";
import type { RunHost } from "./run-host.js";

export interface Runner {
  readonly descriptor: RunnerDescriptor;
  /**
   * Checks a config before it is saved or started with (runs §5.5).
   * @returns one sentence per fault, each beginning with the key it is about; empty when all is well
   */
  findConfigFaults(config: Readonly<Record<string, unknown>>): readonly string[];
  /**
   * Says what the runner would need a box for, from its config alone; null when it would not use one (box §4.5).
   * The host renders the template when it admits the message, so that a bad one costs nothing (box §2.3).
   */
  planBox(config: Readonly<Record<string, unknown>>): { readonly template: string } | null;
  run(context: RunContext, host: RunHost, options: CallOptions): AsyncIterable<RunnerResult>;
}
