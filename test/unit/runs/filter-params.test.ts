import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { filterParams } from "../../../src/runs/filter-params.js";
import { proves } from "../../support/proves.js";

describe("filterParams", () => {
  it("drops private names and names that speak of a secret", () => {
    proves("CTX-06");
    const variables = { _internal: 1, api_token: "t", MyPassword: "p", lang: "en" };
    expect(filterParams(variables)).toEqual({ lang: "en" });
  });

  it.each(["secret", "TOKEN", "apiKey", "passWORD", "aws_credentials", "monkey"])(
    "drops the name %s, in any case and anywhere in it",
    (name) => {
      expect(filterParams({ [name]: "x" })).toEqual({});
    },
  );

  it("drops a value with something deep inside that is not JSON, and keeps its neighbours", () => {
    proves("CTX-07");
    const variables = {
      good: { list: [1, { deep: null }] },
      bad: { list: [1, { deep: () => 1 }] },
      lang: "en",
    };
    expect(filterParams(variables)).toEqual({ good: { list: [1, { deep: null }] }, lang: "en" });
  });

  it.each([undefined, Number.NaN, Infinity, 1n, Symbol("s"), new Date(0), new Map(), /x/, () => 1])(
    "drops %o, which is not plain JSON",
    (value) => {
      expect(filterParams({ value, list: [value], object: { value } })).toEqual({});
    },
  );

  it("keeps objects without a prototype", () => {
    expect(filterParams({ value: Object.assign(Object.create(null), { a: 1 }) })).toEqual({
      value: { a: 1 },
    });
  });

  it("drops a value that is nested more than 64 levels deep", () => {
    const nest = (depth: number): unknown => (depth === 0 ? 1 : [nest(depth - 1)]);
    expect(Object.keys(filterParams({ deep: nest(64), deeper: nest(65) }))).toEqual(["deep"]);
  });

  it("gives an empty object for no variables", () => {
    expect(filterParams({})).toEqual({});
  });

  it("keeps whatever JSON carries under a harmless name, unchanged", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        const parsed: unknown = JSON.parse(JSON.stringify(value));
        expect(filterParams({ value: parsed })).toEqual({ value: parsed });
      }),
    );
  });
});
