import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isCutJson, JsonBalance, splitJsonObjects } from "../../../src/lib/json-values.js";

const object = fc.dictionary(fc.string(), fc.jsonValue());

describe("splitJsonObjects", () => {
  it.each([
    ["", { objects: [], rest: "" }],
    ['{"a":1}', { objects: ['{"a":1}'], rest: "" }],
    [' {"a":1} \n{"b":{"c":[]}} ', { objects: ['{"a":1}', '{"b":{"c":[]}}'], rest: "" }],
    ['{"a":"}{"}{"b', { objects: ['{"a":"}{"}'], rest: '{"b' }],
    ['{"a":"\\"}"} x ', { objects: ['{"a":"\\"}"}'], rest: "x " }],
    ["[1]{}", { objects: [], rest: "[1]{}" }],
  ])("splits %o", (text, expected) => {
    expect(splitJsonObjects(text)).toEqual(expected);
  });

  it("finds every object of a row again", () => {
    fc.assert(
      fc.property(fc.array(object), (values) => {
        const texts = values.map((value) => JSON.stringify(value));
        expect(splitJsonObjects(texts.join("\n"))).toEqual({ objects: texts, rest: "" });
      }),
    );
  });
});

describe("JsonBalance", () => {
  it("is closed exactly at the end of a value, however it is cut", () => {
    fc.assert(
      fc.property(object, fc.integer({ min: 1, max: 5 }), (value, step) => {
        const text = JSON.stringify(value);
        const balance = new JsonBalance();
        for (let i = 0; i < text.length; i += step) {
          expect(balance.isClosed).toBe(false);
          balance.push(text.slice(i, i + step));
        }
        expect(balance.isClosed).toBe(true);
      }),
    );
  });

  it("is closed after a text in quotes, and open again when another value begins", () => {
    const balance = new JsonBalance();
    balance.push('"a\\"{"');
    expect(balance.isClosed).toBe(true);
    balance.push(" {");
    expect(balance.isClosed).toBe(false);
    expect(new JsonBalance().isClosed).toBe(false);
  });
});

describe("isCutJson", () => {
  it("is true for every real beginning of an object, and false for the whole", () => {
    fc.assert(
      fc.property(object, fc.nat(), (value, place) => {
        const text = JSON.stringify(value);
        expect(isCutJson(text)).toBe(false);
        expect(isCutJson(text.slice(0, 1 + (place % (text.length - 1))))).toBe(true);
      }),
    );
  });

  it.each(["", "nonsense", "{'a':1}", '{"a":1,}', '{"a":1}}', "12"])(
    "is false for what is merely wrong: %o",
    (text) => {
      expect(isCutJson(text)).toBe(false);
    },
  );
});
