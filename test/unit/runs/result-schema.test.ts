import { describe, expect, it } from "vitest";
import { RESULT_TYPES } from "../../../src/domain/result.js";
import { resultSchema } from "../../../src/runs/result-schema.js";

describe("resultSchema", () => {
  it("has a branch for every type of result", () => {
    const types = resultSchema.options.map(({ shape }) => shape.type.value);
    expect(types.toSorted()).toEqual([...RESULT_TYPES].toSorted());
  });

  it("keeps unknown fields of the envelope out and the rest as it is", () => {
    const result = { type: "action.requested", data: { action: "x", more: 1 }, run_id: "run_1", sequence: 1 };
    expect(resultSchema.parse({ ...result, secret: 1 })).toEqual(result);
  });
});
