import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseTemplate } from "../../../src/box/key-template.js";
import { proves } from "../../support/proves.js";

const REFUSED = [
  ["", /empty/],
  ["{", /{ at character 1 is never closed/],
  ["ab}", /} at character 3 was never opened/],
  ["{a}}", /} at character 4/],
  ["{{a}", /} at character 4/],
  ["{}", /at character 1 is positional/],
  ["x{0}", /at character 2 is positional/],
  ["{٣}", /positional/],
  ["{a.b}", /attribute or index/],
  ["{a[0]}", /attribute or index/],
  ["{a!r}", /conversion/],
  ["{a:>3}", /format specification/],
  ["{a{b}}", /another brace/],
  ["{ a }", /no plain name/],
  ["{a}{b}", /no literal separates {a} from {b}/],
  ["{a}x{b}", /"x" between {a} and {b}/],
  ["{a}é5%{b}", /"é5%" between {a} and {b}/],
  ["{a}{global}{b}", /"global" between {a} and {b}/],
  ["\uD800{a}", /Unicode/],
] as const;

const attempt = (template: string): string => {
  try {
    parseTemplate(template);
    return "taken";
  } catch (error) {
    return error instanceof Error ? error.name : "no error";
  }
};

describe("parseTemplate", () => {
  it.each(REFUSED)("refuses %s and names the place", (template, message) => {
    expect(() => parseTemplate(template)).toThrow(message);
    expect(() => parseTemplate(template)).toThrow(
      expect.objectContaining({ code: "session.template_invalid", param: "box-session-id-template" }),
    );
  });

  it("refuses variables without a separator", () => {
    proves("KEY-08");
    expect(() => parseTemplate("{a}{b}")).toThrow(/separates/);
    expect(() => parseTemplate("{a}x{b}")).toThrow(/letters, digits/);
  });

  it.each(["{launcher_type}_{launcher_id}", "{a}é_5{b}", "x{a}", "{user-id}", "{global}", "{a}{{{b}"])(
    "takes %s",
    (template) => {
      expect(parseTemplate(template).parts.length).toBeGreaterThan(0);
    },
  );

  it("counts {global} as literal text and keeps double braces in the canonical form", () => {
    const parsed = parseTemplate("{{{global}}}_{a}_{a}");
    expect(parsed.canonical).toBe("{{global}}_{a}_{a}");
    expect(parsed.parts[0]).toEqual({ kind: "literal", text: "{global}_", separator: { sign: "{", at: 0 } });
    expect(parsed.variables).toEqual(["a"]);
    expect(parsed.encoded).toEqual(new Set(["%", "{", "}", "_"]));
  });

  it("answers every text with a template or with its one error", () => {
    const text = fc.string({
      unit: fc.constantFrom("{", "}", "a", "0", ".", "_", "!", "%", "é"),
      maxLength: 12,
    });
    fc.assert(
      fc.property(text, (template) => {
        expect(attempt(template)).toMatch(/^(?:taken|ServiceError)$/);
      }),
    );
  });
});
