import { describe, expect, it } from "vitest";
import { toolSourceSchema } from "../../../src/domain/tool.js";

describe("toolSourceSchema", () => {
  it("names a source and the id within it", () => {
    const source = { source: "native", source_id: "native" };
    expect(toolSourceSchema.parse(source)).toEqual(source);
    expect(toolSourceSchema.safeParse({ source: "native" }).success).toBe(false);
  });
});
