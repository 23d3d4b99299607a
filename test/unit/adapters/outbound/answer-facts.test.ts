import { describe, expect, it } from "vitest";
import { readMimeType, readName } from "../../../../src/adapters/outbound/answer-facts.js";

const url = new URL("https://a.test/dir/from%20path.txt");

describe("readName", () => {
  it.each([
    ['attachment; filename="a b.txt"', "a b.txt"],
    ['attachment; filename="a\\"b.txt"', 'a"b.txt'],
    ["attachment; filename=plain.txt", "plain.txt"],
    ["attachment; filename=x; filename*=UTF-8''%E6%8A%A5.csv", "报.csv"],
    ["attachment; filename*=UTF-8''%zz", "%zz"],
    [`attachment; filename="${Buffer.from("报.csv").toString("latin1")}"`, "报.csv"],
    ['attachment; filename="\u00e9.txt"', "\u00e9.txt"],
    ["inline", "from path.txt"],
    [undefined, "from path.txt"],
  ])("reads %s as %s", (header, name) => {
    expect(readName({ "content-disposition": header }, url)).toBe(name);
  });

  it("has none where the path ends with a slash, and bounds what it has", () => {
    expect(readName({}, new URL("https://a.test/dir/"))).toBeNull();
    expect(readName({}, new URL("https://a.test/%ff"))).toBe("%ff");
    expect(readName({}, new URL(`https://a.test/${"x".repeat(5000)}`))).toHaveLength(1024);
  });
});

describe("readMimeType", () => {
  it("takes plain types only", () => {
    expect(readMimeType({ "content-type": "Image/SVG+xml; q=1" })).toBe("image/svg+xml");
    expect(readMimeType({ "content-type": "nonsense" })).toBeNull();
    expect(readMimeType({})).toBeNull();
  });
});
