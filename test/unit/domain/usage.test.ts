import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { addTurn, NO_USAGE, type TurnUsage, type Usage, usageSchema } from "../../../src/domain/usage.js";

const turn = fc.record({
  prompt_tokens: fc.nat(10_000),
  completion_tokens: fc.nat(10_000),
  total_tokens: fc.nat(20_000),
});

describe("addTurn", () => {
  it("adds a model call to the totals and to the list of turns", () => {
    const first = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
    const second = { prompt_tokens: 20, completion_tokens: 1, total_tokens: 21 };
    expect(addTurn(addTurn(NO_USAGE, first), second)).toEqual({
      model_calls: 2,
      prompt_tokens: 30,
      completion_tokens: 6,
      total_tokens: 36,
      turns: [first, second],
    });
  });

  it("counts a call whose provider reported nothing, with zero tokens", () => {
    const nothing = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
    expect(addTurn(NO_USAGE, null)).toEqual({ ...NO_USAGE, model_calls: 1, turns: [nothing] });
  });

  it("leaves what it was given as it was", () => {
    addTurn(NO_USAGE, { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 });
    expect(NO_USAGE.model_calls).toBe(0);
    expect(NO_USAGE.turns).toEqual([]);
  });

  it("keeps totals equal to the sums of the turns", () => {
    fc.assert(
      fc.property(fc.array(fc.option(turn)), (turns) => {
        const usage = turns.reduce<Usage>((sum, next) => addTurn(sum, next), NO_USAGE);
        const sum = (key: keyof TurnUsage) => usage.turns.reduce((total, next) => total + next[key], 0);
        expect(usage.model_calls).toBe(turns.length);
        expect(usage.prompt_tokens).toBe(sum("prompt_tokens"));
        expect(usage.completion_tokens).toBe(sum("completion_tokens"));
        expect(usage.total_tokens).toBe(sum("total_tokens"));
        expect(usageSchema.parse(usage)).toEqual(usage);
      }),
    );
  });
});

describe("usageSchema", () => {
  it.each([-1, 1.5, "3", null])("refuses %j as a number of tokens", (tokens) => {
    expect(usageSchema.safeParse({ ...NO_USAGE, total_tokens: tokens }).success).toBe(false);
  });
});
