/** What the user sees of the whole run: cumulative snapshots that do not shrink (local-agent §11.2, §11.4). */
import type { ToolCall } from "../../domain/message.js";
import type { RunnerResult } from "../../domain/result.js";
import type { Results } from "./results.js";

export class ShownText {
  readonly #results: Results;
  readonly #isStreaming: boolean;
  /** Text of earlier turns. */
  #before = "";
  #sequence = 0;

  /** @param isStreaming Without it nothing is shown before the message is complete. */
  constructor(results: Results, isStreaming: boolean) {
    this.#results = results;
    this.#isStreaming = isStreaming;
  }

  get isStreaming(): boolean {
    return this.#isStreaming;
  }

  /** @returns the snapshots to yield: one, or none where nothing is streamed or there is nothing to see */
  snapshot(
    turnText: string,
    facts: { readonly isFinal?: boolean; readonly calls?: readonly ToolCall[] } = {},
  ): readonly RunnerResult[] {
    if (!this.#isStreaming || turnText.trim() === "") return [];
    this.#sequence += 1;
    const chunk = {
      role: "assistant" as const,
      content: joinTurns(this.#before, turnText),
      msg_sequence: this.#sequence,
      ...(facts.calls === undefined ? {} : { tool_calls: [...facts.calls] }),
      ...(facts.isFinal === true ? { is_final: true } : {}),
    };
    return [this.#results.delta(chunk)];
  }

  /** The text of a turn stays as the beginning of later snapshots. */
  endTurn(turnText: string): void {
    this.#before = joinTurns(this.#before, turnText);
  }
}

/** The same joint that complete messages get, so that both modes give the same text. */
function joinTurns(before: string, text: string): string {
  if (text.trim() === "") return before;
  return before === "" ? text : `${before}\n\n${text}`;
}
