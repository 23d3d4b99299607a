import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { interpolate } from "../../../src/config/interpolate.js";

const environment = { NAME: "value", EMPTY: "", PORT: "9000" };

describe("interpolate", () => {
  it.each([
    ["${NAME}", "value"],
    ["a ${NAME} b ${PORT}", "a value b 9000"],
    ["${MISSING:-other}", "other"],
    ["${MISSING:-}", ""],
    ["${EMPTY:-other}", "other"],
    ["${EMPTY}", ""],
    ["$${NAME}", "${NAME}"],
    ["costs $5 {and} $", "costs $5 {and} $"],
    ["${MISSING:-a:-b}", "a:-b"],
  ])("reads %s as %s", (text, expected) => {
    expect(interpolate({ a: [text] }, environment)).toMatchObject({ value: { a: [expected] }, faults: [] });
  });

  it("names the variable and the path when a variable without default is missing", () => {
    const { faults } = interpolate({ server: { keys: [{ key: "${NOWHERE}" }] } }, environment);
    expect(faults).toEqual([
      {
        path: "server.keys[0].key",
        found: "a reference to the variable NOWHERE, which is not set",
        allowed: "a variable that is set, or a default as in ${NOWHERE:-default}",
      },
    ]);
  });

  it.each(["${}", "${1A}", "${NAME", "${NA ME}"])("refuses the reference %s", (text) => {
    expect(interpolate(text, environment).faults).toHaveLength(1);
  });

  it("does not read a value again, so a variable cannot refer to another", () => {
    expect(interpolate("${A}", { A: "${B}", B: "secret" }).value).toBe("${B}");
  });

  it("tells which texts hold something of the environment", () => {
    const { substituted } = interpolate({ a: "${NAME}", b: "plain", c: "$${NAME}" }, environment);
    expect([...substituted]).toEqual([["a", "NAME"]]);
  });

  it("leaves keys and values that are no text as they are", () => {
    const value = { "${NAME}": 1, list: [true, null, 2.5] };
    expect(interpolate(value, environment).value).toEqual(value);
  });

  it("returns every text without a dollar sign unchanged", () => {
    fc.assert(
      fc.property(
        fc.string().filter((text) => !text.includes("$")),
        (text) => {
          expect(interpolate(text, {}).value).toBe(text);
        },
      ),
    );
  });
});
