import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  choice,
  count,
  optionalText,
  parseInput,
  position,
  text,
  toolParameters,
} from "../../../src/tools/tool-input.js";

const schema = z.object({
  path: text("Where."),
  note: optionalText("Why."),
  mode: choice(["overwrite", "append"], "How."),
  limit: count({ fallback: 10, max: 100 }, "How many."),
  start: position("From where."),
  names: z.array(z.string()).optional().meta({ description: "Which." }),
  env: z.record(z.string(), z.string()).optional().meta({ description: "With what." }),
});

const parse = (input: Record<string, unknown>) => parseInput("try", schema, input);

describe("toolParameters", () => {
  it("writes only the keywords that every model takes", () => {
    expect(toolParameters(schema)).toEqual({
      type: "object",
      properties: {
        path: { type: "string", description: "Where." },
        note: { type: "string", description: "Why." },
        mode: { type: "string", enum: ["overwrite", "append"], description: "How." },
        limit: { type: "integer", description: "How many." },
        start: { type: "integer", description: "From where." },
        names: { type: "array", items: { type: "string" }, description: "Which." },
        env: { type: "object", description: "With what." },
      },
      required: ["path"],
    });
  });
});

describe("parseInput", () => {
  it("fills in defaults, takes null for missing, and ignores unknown fields", () => {
    expect(parse({ path: "a", note: null, mode: null, limit: null, other: 1 })).toEqual({
      ok: true,
      value: { path: "a", note: undefined, mode: "overwrite", limit: 10, start: 0 },
    });
  });

  it("names every field at fault", () => {
    expect(parse({ mode: "delete", limit: true, names: ["a", 3] })).toEqual({
      ok: false,
      error:
        "Invalid input for try: path: expected string, received undefined; " +
        'mode: expected one of "overwrite"|"append"; limit: expected a number; ' +
        "names[1]: expected string, received number.",
    });
  });

  it.each([
    [0, 10],
    [-3, 10],
    [0.5, 10],
    [7.9, 7],
    [1000, 100],
    [Number.POSITIVE_INFINITY, 100],
    ["12", 12],
    ["-12", 10],
  ])("reads %o as the count %o", (given, expected) => {
    expect(parse({ path: "a", limit: given })).toMatchObject({ value: { limit: expected } });
  });

  it.each([true, "many", [], {}])("refuses %o as a count", (given) => {
    const parsed = parse({ path: "a", limit: given });
    expect(parsed).toEqual({ ok: false, error: "Invalid input for try: limit: expected a number." });
  });

  it("counts places from 0", () => {
    expect(parse({ path: "a", start: -5 })).toMatchObject({ value: { start: 0 } });
    expect(parse({ path: "a", start: "500" })).toMatchObject({ value: { start: 500 } });
  });
});
