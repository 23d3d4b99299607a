import { describe, expect, it } from "vitest";
import { fileIdSchema, runIdSchema, sessionIdSchema } from "../../../src/domain/ids.js";

describe.each([
  { prefix: "run", schema: runIdSchema },
  { prefix: "ses", schema: sessionIdSchema },
  { prefix: "file", schema: fileIdSchema },
])("an id with the prefix $prefix", ({ prefix, schema }) => {
  it("is the prefix and at least one character", () => {
    expect(schema.safeParse(`${prefix}_a1`).success).toBe(true);
  });

  it.each([`${prefix}_`, prefix, `${prefix}-1`, "job_1", "", ` ${prefix}_1`])("is not %j", (text) => {
    expect(schema.safeParse(text).success).toBe(false);
  });
});
