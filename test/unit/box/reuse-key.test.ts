import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { keyAsTemplate, readReuseKey, renderReuseKey } from "../../../src/box/reuse-key.js";
import { proves } from "../../support/proves.js";

const render = (template: string, variables: Record<string, unknown>) =>
  renderReuseKey(template, variables, "main");

const code = (act: () => unknown): string => {
  try {
    act();
  } catch (error) {
    return error instanceof Error && "code" in error ? String(error.code) : String(error);
  }
  return "no error";
};

/** Unicode text of any kind, with much of what templates use as separators. */
const value = fc.oneof(
  fc.string({ unit: "binary", minLength: 1, maxLength: 12 }).filter((text) => !/\p{Surrogate}/u.test(text)),
  fc.string({
    unit: fc.constantFrom("_", "-", "%", "5", "F", "x", "{", "、", "é"),
    minLength: 1,
    maxLength: 8,
  }),
);
const tuple = fc.record({ a: value, b: value });
const TEMPLATES = [
  "{a}_{b}",
  "{a}%_{b}",
  "{a}x-y{b}%",
  "%{{{a}}}{global}、{b}",
  "pre{a}5F_{b}post",
  "{b}_{a}",
];

describe("renderReuseKey", () => {
  it("names a chat after its kind and id under the default template", () => {
    proves("KEY-01");
    const template = "{launcher_type}_{launcher_id}";
    expect(render(template, { launcher_type: "person", launcher_id: "42" }).key).toBe("person_42");
    expect(render(template, { launcher_type: "group", launcher_id: 7 }).key).toBe("group_7");
  });

  it("gives one identity for the whole tenant under {global}", () => {
    const first = render("{global}", { launcher_id: "1" });
    expect(render("{global}", { launcher_id: "2" }).identity).toBe(first.identity);
    expect(first).toMatchObject({ template: "global", key: "global" });
    expect(renderReuseKey("{global}", {}, "other").identity).not.toBe(first.identity);
  });

  it.each([{}, { nope: null }, { nope: undefined }, { nope: "" }])(
    "refuses to merge chats when the variable is missing: %o",
    (variables) => {
      expect(() => render("{nope}", variables)).toThrow(/"nope"/);
      expect(code(() => render("{nope}", variables))).toBe("session.variable_missing");
    },
  );

  it("names an empty sender instead of sharing a box", () => {
    proves("KEY-11");
    expect(() => render("{sender_id}", { sender_id: "" })).toThrow(/"sender_id", which is empty/);
  });

  it.each(["constructor", "toString", "hasOwnProperty"])("takes nothing inherited as a value: %s", (name) => {
    expect(code(() => render(`{${name}}`, {}))).toBe("session.variable_missing");
  });

  it.each([true, 1.5, Number.NaN, 2 ** 53, -(2 ** 53), "a\uD800", ["x"], { id: 1 }, 3n])(
    "refuses a value that is no text and no safe integer: %o",
    (bad) => {
      expect(code(() => render("{a}", { a: bad }))).toBe("box.validation");
      expect(() => render("{a}", { a: bad })).toThrow(/"a"/);
    },
  );

  it.each([
    [0, "0"],
    [-0, "0"],
    [2 ** 53 - 1, "9007199254740991"],
    [-(2 ** 53 - 1), "-9007199254740991"],
  ])("counts the integer %d as its decimal text", (number, text) => {
    expect(render("{a}", { a: number }).identity).toBe(render("{a}", { a: text }).identity);
  });

  it("keeps values apart where the separator stands inside them", () => {
    proves("KEY-07");
    const pairs = [
      { a: "x_y", b: "z" },
      { a: "x", b: "y_z" },
      { a: "x%5Fy", b: "z" },
      { a: "x", b: "y%5Fz" },
    ];
    expect(new Set(pairs.map((pair) => render("{a}_{b}", pair).identity)).size).toBe(4);
    expect(render("{a}_{b}", { a: "x_y", b: "z" }).key).toBe("x%5Fy_z");
  });

  it("keeps two templates apart that render the same text", () => {
    proves("KEY-09");
    const variables = { launcher_type: "a", launcher_id: "b", bot_id: "a", sender_id: "b" };
    const first = render("{launcher_type}_{launcher_id}", variables);
    const second = render("{bot_id}_{sender_id}", variables);
    expect(first.key).toBe(second.key);
    expect(first.identity).not.toBe(second.identity);
  });

  it("keeps ids apart that differ only in composition, case or white space", () => {
    proves("KEY-10");
    const ids = ["caf\u00e9", "cafe\u0301", "caf\u00e9 ", " caf\u00e9", "Caf\u00e9"];
    expect(new Set(ids.map((id) => render("{a}", { a: id }).identity)).size).toBe(ids.length);
  });

  it("encodes only % and the signs of its own literals", () => {
    expect(render("{a}", { a: "x_y/z%" }).key).toBe("x_y/z%25");
    expect(render("a、{a}", { a: "、/" }).key).toBe("a、%E3%80%81/");
    expect(render("{{{a}}}", { a: "{}" }).key).toBe("{%7B%7D}");
  });

  it("holds the length of a key to 1024 characters, counted as characters", () => {
    expect(render("{a}", { a: "😀".repeat(1024) }).key).toHaveLength(2048);
    expect(() => render("{a}", { a: "x".repeat(1025) })).toThrow(/1025 characters; the limit is 1024/);
    expect(code(() => render("{a}", { a: "x".repeat(1025) }))).toBe("box.validation");
  });

  it("never gives two value tuples one identity", () => {
    fc.assert(
      fc.property(fc.constantFrom(...TEMPLATES), tuple, tuple, (template, one, two) => {
        const same = one.a === two.a && one.b === two.b;
        const first = render(template, one);
        const second = render(template, two);
        expect(first.identity === second.identity).toBe(same);
      }),
    );
  });

  it("never gives one identity to two tenants or two templates", () => {
    fc.assert(
      fc.property(fc.constantFrom(...TEMPLATES), fc.constantFrom(...TEMPLATES), value, (one, two, a) => {
        const identities = new Set([
          renderReuseKey(one, { a, b: a }, "t1").identity,
          renderReuseKey(one, { a, b: a }, "t2").identity,
          renderReuseKey(two, { a, b: a }, "t1").identity,
        ]);
        expect(identities.size).toBe(one === two ? 2 : 3);
      }),
    );
  });
});

describe("readReuseKey", () => {
  it("reads every value back out of the rendered key", () => {
    fc.assert(
      fc.property(fc.constantFrom(...TEMPLATES), value, value, (template, a, b) => {
        const read = readReuseKey(template, render(template, { a, b }).key);
        expect(Object.fromEntries(read ?? [])).toEqual({ a, b });
      }),
    );
  });

  it.each([
    ["{a}_{b}", "x"],
    ["{a}_{b}", "_y"],
    ["pre{a}", "xyz"],
    ["{a}_", "x_y"],
    ["{a}", "%zz"],
  ])("knows that %s did not render %s", (template, key) => {
    expect(readReuseKey(template, key)).toBeNull();
  });
});

describe("keyAsTemplate", () => {
  it("renders a plain key as itself, braces included", () => {
    for (const key of ["person_42", "{a}", "}{", "{{x}}"])
      expect(render(keyAsTemplate(key), { a: "no" }).key).toBe(key);
  });

  it("is the tenant's shared key when it says global", () => {
    expect(render(keyAsTemplate("global"), {}).identity).toBe(render("{global}", {}).identity);
  });

  it("refuses a key that is empty, too long or no text", () => {
    proves("KEY-05");
    expect(code(() => keyAsTemplate(""))).toBe("box.validation");
    expect(() => keyAsTemplate("x".repeat(1025))).toThrow(/1025/);
    expect(code(() => keyAsTemplate("x".repeat(1025)))).toBe("box.validation");
    expect(code(() => keyAsTemplate("\uDC00"))).toBe("box.validation");
  });
});
