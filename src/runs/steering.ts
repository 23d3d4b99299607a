/** Messages for a run that is going on: taken in, looked up, listed (runs §8.2, §14). */
import { createHash } from "node:crypto";
import { messageTrigger } from "../domain/event.js";
import type { RunId } from "../domain/ids.js";
import { messageText } from "../domain/message.js";
import { isTerminal } from "../domain/run.js";
import type { SteeredMessage } from "../domain/steering.js";
import type { RunRecord } from "../ports/run-store.js";
import type { SteeringItem, SteeringStore } from "../ports/steering-store.js";
import type { ActiveRuns } from "./active-runs.js";
import { untouched } from "./admit-message.js";
import { toTime } from "./run-object.js";
import { userEntry } from "./user-entry.js";

/** Messages that may wait for one run (runs §14.3). */
const MAX_WAITING = 100;

export interface SteeringDeps {
  readonly steering: SteeringStore;
  readonly active: Pick<ActiveRuns, "canSteer">;
}

/** What became of the attempt; `own` = the message needs a run of its own. */
export type Absorption =
  | { readonly kind: "steered"; readonly message: SteeredMessage }
  | { readonly kind: "ended" | "own" };

export class Steering {
  readonly #deps: SteeringDeps;

  constructor(deps: SteeringDeps) {
    this.#deps = deps;
  }

  /** @param into the run of the conversation that is going on, with nothing waiting behind it */
  async absorb(message: RunRecord, into: RunRecord): Promise<Absorption> {
    if (!this.#deps.active.canSteer(into.id) || !fits(message, into)) return { kind: "own" };
    const text = messageText(userEntry(message));
    const offered = { message, text, runId: into.id, limit: MAX_WAITING };
    const answer = await this.#deps.steering.offer(offered);
    if (answer === "ended") return { kind: "ended" };
    if (answer === "full") return { kind: "own" };
    const { id, createdAt } = message;
    return {
      kind: "steered",
      message: toSteeredMessage({ id, runId: into.id, place: "waiting", text, createdAt }),
    };
  }

  /** @returns null for a message that is, or has become, a run of its own */
  async find(tenant: string, id: RunId): Promise<SteeredMessage | null> {
    const item = await this.#deps.steering.get(tenant, id);
    return item === null || item.place === "queue" ? null : toSteeredMessage(item);
  }

  async list(run: RunRecord): Promise<readonly SteeredMessage[]> {
    return (await this.#deps.steering.listByRun(run.tenant, run.id)).map(toSteeredMessage);
  }
}

/**
 * Whether a run can answer for a message: one of words alone, in the same box. Files need an inbox of their own, so
 * such a message is a run of its own and loses nothing.
 */
function fits(message: RunRecord, into: RunRecord): boolean {
  return (
    message.trigger.event_type === "message.received" &&
    message.attachments.length === 0 &&
    message.runner === into.runner &&
    message.session?.id === into.session?.id &&
    !isTerminal(into.state)
  );
}

/** A text for a run, as the message that it would be by itself. @param now Unix milliseconds */
export function steeringMessage(
  run: RunRecord,
  { id, text, now }: { readonly id: RunId; readonly text: string; readonly now: number },
): RunRecord {
  const digest = createHash("sha256")
    .update(JSON.stringify([run.eventId, id]))
    .digest("hex");
  return {
    ...run,
    id,
    eventId: `host:${digest.slice(0, 32)}`,
    trigger: messageTrigger({ id, chat: run.chat, createdAt: now }),
    state: "queued",
    input: { text, contents: [], attachments: [] },
    attachments: [],
    attachmentSources: [],
    onDisconnect: "continue",
    retryOf: null,
    ...untouched(now),
  };
}

function toSteeredMessage(
  item: Pick<SteeringItem, "id" | "runId" | "place" | "text" | "createdAt">,
): SteeredMessage {
  return {
    id: item.id,
    object: "run",
    status: "steered",
    absorbed_by: item.runId,
    place: item.place,
    text: item.text,
    created_at: toTime(item.createdAt),
  };
}
