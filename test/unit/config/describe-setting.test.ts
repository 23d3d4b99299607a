import { describe, expect, it } from "vitest";
import { z } from "zod";
import { describeAllowed, nodeAt, toSchemaNode } from "../../../src/config/describe-setting.js";

const schema = z.strictObject({
  port: z.int().min(0).max(65_535).default(1),
  share: z.number().positive().max(1),
  count: z.int().min(2),
  most: z.int().max(9),
  any_number: z.int(),
  on: z.boolean().nullable(),
  level: z.enum(["low", "high"]),
  levels: z.array(z.enum(["low", "high"])),
  name: z.string().min(1).max(8),
  text: z.string(),
  filled: z.string().min(1),
  short: z.string().max(3).nullable(),
  said: z.string().meta({ allowed: "what is said" }),
  fixed: z.literal("x"),
  free: z.unknown(),
  hosts: z.array(z.string()).max(3),
  keys: z.array(z.strictObject({ key: z.string().max(3) })),
  groups: z.record(z.string(), z.strictObject({ size: z.int().min(1) })),
});
const root = toSchemaNode(schema);

describe("describeAllowed", () => {
  it.each([
    ["port", "a whole number from 0 to 65535"],
    ["share", "a number above 0 and up to 1"],
    ["count", "a whole number of at least 2"],
    ["most", "a whole number of at most 9"],
    ["any_number", "a whole number"],
    ["on", "true or false or null"],
    ["level", "one of low, high"],
    ["levels", "a list of any of low, high"],
    ["name", "text of 1 to 8 characters"],
    ["text", "text"],
    ["filled", "text that is not empty"],
    ["short", "text of at most 3 characters or null"],
    ["said", "what is said"],
    ["fixed", "x"],
    ["free", "any value"],
    ["hosts", "a list of text, at most 3"],
    ["keys", "a list"],
    ["groups", "a group of settings"],
  ])("says of %s: %s", (name, text) => {
    const node = nodeAt(root, [name]);
    expect(node === null ? null : describeAllowed(node)).toBe(text);
  });

  it("names the settings of a group", () => {
    expect(describeAllowed(root)).toMatch(/^a group with port, share, count/);
  });
});

describe("nodeAt", () => {
  it("walks into lists and groups of groups", () => {
    expect(nodeAt(root, ["keys", 4, "key"])).toMatchObject({ maxLength: 3 });
    expect(nodeAt(root, ["groups", "any name", "size"])).toMatchObject({ minimum: 1 });
  });

  it.each([[["nothing"]], [["port", "deeper"]], [["keys", 0, "nothing"]], [["constructor"]]])(
    "finds nothing at %j",
    (path) => {
      expect(nodeAt(root, path)).toBeNull();
    },
  );
});
