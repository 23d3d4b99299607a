/** Messages that arrive while the run goes on become user messages of the same run (local-agent §19). */
import { ServiceError } from "../../domain/errors.js";
import type { Message } from "../../domain/message.js";
import type { CallOptions } from "../../ports/options.js";
import type { RunHost } from "../../ports/run-host.js";

export interface FollowUpDeps {
  readonly host: Pick<RunHost, "pullSteering">;
  /** The host offers the API to this run. */
  readonly canSteer: boolean;
}

/**
 * Without the API, or without the permission, there are none (§19.1).
 * @param after the reply that they follow, when it is not in the history yet
 */
export async function pullFollowUps(
  { host, canSteer }: FollowUpDeps,
  after: Message | null,
  options: CallOptions,
): Promise<readonly Message[]> {
  if (!canSteer) return [];
  try {
    const pulled = await host.pullSteering({ mode: "all", ...(after === null ? {} : { after }) }, options);
    return pulled.map(({ text }) => ({ role: "user", content: text }));
  } catch (error) {
    if (error instanceof ServiceError && error.code === "host.unauthorized") return [];
    throw error;
  }
}
