import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { JsonStream } from "../../../../src/adapters/openai/json-stream.js";

const value = fc.dictionary(fc.string(), fc.jsonValue());

describe("JSON values of a stream", () => {
  it("come back whole, however they are packed into events", () => {
    fc.assert(
      fc.property(
        fc.array(value, { minLength: 1, maxLength: 5 }),
        fc.array(fc.nat(), { maxLength: 8 }),
        (values, cuts) => {
          const wire = values.map((each) => JSON.stringify(each)).join("");
          const places = [...new Set(cuts.map((cut) => cut % (wire.length + 1)))].toSorted(
            (one, other) => one - other,
          );
          const stream = new JsonStream();
          const pieces = [0, ...places].map((from, i) => wire.slice(from, places[i] ?? wire.length));
          const read = pieces.flatMap((piece) => stream.push(piece));
          stream.end();
          const reread: unknown = JSON.parse(JSON.stringify(values));
          expect(read).toEqual(reread);
        },
      ),
    );
  });

  it("may be spread over several lines of one event", () => {
    expect(new JsonStream().push('{"a":\n1,"b":"x\ny"}')).toEqual([{ a: 1, b: "xy" }]);
  });

  it("refuses what is no object, and an end inside a value", () => {
    expect(() => new JsonStream().push("oops")).toThrow(SyntaxError);
    expect(() => new JsonStream().push('{"a":1} oops')).toThrow(SyntaxError);
    expect(() => new JsonStream().push("{'a':1}")).toThrow(SyntaxError);
    const stream = new JsonStream();
    stream.push('{"a":');
    expect(() => stream.end()).toThrow(SyntaxError);
  });
});
