/** What a run has done so far, as far as the loop decides by it (local-agent §6, §8). */
import type { Message } from "../../domain/message.js";
import type { CallOutcome } from "./execute-call.js";
import { LoopGuard } from "./loop-guard.js";
import type { PreparedCall } from "./prepare-calls.js";

/** Cut replies in a row after which the run ends (§8.4). */
const MAX_CUT_REPLIES = 3;

/** Why the next reply is the last one, asked for without tools. */
export type LastReason = "max_iterations" | "loop";

export class LoopState {
  readonly #maxIterations: number;
  readonly #toolCounts = new Map<string, number>();
  #messages: readonly Message[];
  #guard = new LoopGuard();
  #batches = 0;
  #cutReplies = 0;

  constructor(messages: readonly Message[], maxIterations: number) {
    this.#messages = messages;
    this.#maxIterations = maxIterations;
  }

  get messages(): readonly Message[] {
    return this.#messages;
  }

  get guard(): LoopGuard {
    return this.#guard;
  }

  /** Batches of tool calls that ran. */
  get batches(): number {
    return this.#batches;
  }

  get lastReason(): LastReason | null {
    if (this.#guard.isExhausted) return "loop";
    return this.#batches >= this.#maxIterations ? "max_iterations" : null;
  }

  /** No reply fits the model's output limit, however often it is asked. */
  get isAlwaysCut(): boolean {
    return this.#cutReplies >= MAX_CUT_REPLIES;
  }

  /** One tool message per call, in the order of the calls, directly after the message that asked for them (§6.2). */
  addBatch(assistant: Message, calls: readonly PreparedCall[], outcomes: readonly CallOutcome[]): void {
    const answers = outcomes.map(
      ({ call, modelText }): Message => ({ role: "tool", tool_call_id: call.id, content: modelText }),
    );
    this.#messages = [...this.#messages, assistant, ...answers];
    this.#batches += 1;
    this.#guard = this.#guard.after(outcomes.map(({ key }) => key));
    const isCut = calls.every(({ plan }) => plan.kind === "refuse" && plan.isCut);
    this.#cutReplies = isCut ? this.#cutReplies + 1 : 0;
    for (const { call, plan } of calls) {
      if (plan.kind !== "execute") continue;
      const { name } = call.function;
      this.#toolCounts.set(name, (this.#toolCounts.get(name) ?? 0) + 1);
    }
  }

  /** What the user said while the run went on, after the reply that it follows. */
  addFollowUps(messages: readonly Message[]): void {
    this.#messages = [...this.#messages, ...messages];
  }

  /** One sentence for a failure text: what was done before it (§10.6). */
  get doneSoFar(): string {
    const counts = [...this.#toolCounts].map(([name, count]) => `${name} ${count}`).join(", ");
    const rounds = this.#batches === 1 ? "1 tool round" : `${this.#batches} tool rounds`;
    return `Done before that: ${rounds}${counts === "" ? "" : ` (${counts})`}. Files already exported are delivered.`;
  }
}
