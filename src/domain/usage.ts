/** Token usage of a run (local-agent §18). */
import { z } from "zod";

export const turnUsageSchema = z.object({
  prompt_tokens: z.number().int().nonnegative(),
  completion_tokens: z.number().int().nonnegative(),
  total_tokens: z.number().int().nonnegative(),
});
export type TurnUsage = z.infer<typeof turnUsageSchema>;

export const usageSchema = z.object({
  model_calls: z.number().int().nonnegative(),
  prompt_tokens: z.number().int().nonnegative(),
  completion_tokens: z.number().int().nonnegative(),
  total_tokens: z.number().int().nonnegative(),
  turns: z.array(turnUsageSchema),
});
export type Usage = z.infer<typeof usageSchema>;

export const NO_USAGE: Usage = {
  model_calls: 0,
  prompt_tokens: 0,
  completion_tokens: 0,
  total_tokens: 0,
  turns: [],
};

/** Adds one model call; a provider that reported nothing counts as a call with zero tokens. */
export function addTurn(usage: Usage, turn: TurnUsage | null): Usage {
  const counted = turn ?? { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
  return {
    model_calls: usage.model_calls + 1,
    prompt_tokens: usage.prompt_tokens + counted.prompt_tokens,
    completion_tokens: usage.completion_tokens + counted.completion_tokens,
    total_tokens: usage.total_tokens + counted.total_tokens,
    turns: [...usage.turns, counted],
  };
}
