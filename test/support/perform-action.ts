/** Performs a host action as the process of a package would ask for it. */

import type { RunHost } from "../../src/ports/run-host.js";
import { hostActions } from "../../src/runs/host/host-actions.js";

const NEVER = new AbortController().signal;

/** @returns the value, or all values of a stream */
export async function performAction(host: RunHost, action: string, payload: unknown = {}): Promise<unknown> {
  const answer = await hostActions.perform(host, { action, payload }, { signal: NEVER });
  if (answer.kind === "value") return answer.value;
  const values: unknown[] = [];
  for await (const value of answer.values) values.push(value);
  return values;
}
