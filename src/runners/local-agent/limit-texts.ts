/** What model and user are told when a limit of the loop strikes (local-agent §6.5, §6.6, §8.2, runs §18.10). Pure. */
import type { Message } from "../../domain/message.js";
import type { ModelResource } from "../../domain/resources.js";
import type { FinishReason, RunWarning } from "../../domain/result.js";
import { END_AT } from "./loop-guard.js";
import type { LastReason } from "./loop-state.js";

/** The system line of the last request, which offers no tools. */
export function budgetLine(reason: LastReason, maxIterations: number): Message {
  const why =
    reason === "max_iterations"
      ? `The tool budget of this run (${maxIterations} rounds) is used up.`
      : `The same tool call gave the same result ${END_AT} times in a row, so no further tools run.`;
  return { role: "system", content: `${why} Give the user your final answer with what you have.` };
}

/** For the user, when even the last reply asked for tools. */
export function limitSentence(reason: LastReason, maxIterations: number): string {
  return reason === "max_iterations"
    ? `(Stopped here: the limit of ${maxIterations} tool rounds for one message is reached.)`
    : `(Stopped here: the same tool call gave the same result ${END_AT} times in a row.)`;
}

/** Names the limits that struck, with their values. */
export function limitWarnings(
  reason: FinishReason,
  facts: {
    readonly maxIterations: number;
    readonly isTextCut: boolean;
    readonly model: ModelResource | null;
  },
): readonly RunWarning[] {
  const warnings: RunWarning[] = [];
  if (reason === "max_iterations")
    warnings.push({
      code: "runner.max_iterations",
      message: `The limit max-tool-iterations of ${facts.maxIterations} was reached.`,
    });
  if (reason === "loop")
    warnings.push({
      code: "runner.loop",
      message: `The same tool call gave the same result ${END_AT} times in a row, which is the limit.`,
    });
  if (facts.isTextCut)
    warnings.push({
      code: "runner.output_cut",
      message: `The answer was cut by the model's own output limit (${facts.model?.max_output_tokens ?? "unknown number of"} tokens).`,
    });
  return warnings;
}
