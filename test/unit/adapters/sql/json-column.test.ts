import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  readJson,
  readNullableJson,
  writeJson,
  writeNullableJson,
} from "../../../../src/adapters/sql/json-column.js";

const schema = z.object({ text: z.string() });

describe("a JSON column", () => {
  it.each(["plain", "报告 \u0000 \ud800"])("gives back what was written: %j", (text) => {
    expect(readJson(schema, writeJson({ text }))).toEqual({ text });
  });

  it("keeps null apart from every value", () => {
    expect(writeNullableJson(null)).toBeNull();
    expect(readNullableJson(schema, null)).toBeNull();
    expect(readNullableJson(schema, writeNullableJson({ text: "x" }))).toEqual({ text: "x" });
  });

  it.each(['{"text":1}', "{", ""])("refuses text that is not what we write: %s", (text) => {
    expect(() => readJson(schema, text)).toThrow(expect.objectContaining({ code: "internal" }));
  });
});
