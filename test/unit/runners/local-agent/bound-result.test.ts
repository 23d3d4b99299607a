import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { boundResult } from "../../../../src/runners/local-agent/bound-result.js";
import { findReferences } from "../../../../src/runners/local-agent/result-references.js";
import { toToolText } from "../../../../src/runners/local-agent/tool-text.js";
import { calls, ScriptedModel, text } from "../../../fakes/scripted-model.js";
import { proves } from "../../../support/proves.js";
import { textLike } from "../../../support/text-like.js";
import { BOTH_MODES, runAgent } from "./run-agent.js";

const ok = (result: unknown) => toToolText({ ok: true, result });
const failed = (error: string, result?: unknown) => toToolText({ ok: false, error, result });

describe("text of an outcome", () => {
  it.each([
    ["a string stays", "as it is", "as it is"],
    ["texts are joined by line breaks", ["a", { type: "text", text: "b" }], "a\nb"],
    [
      "an image becomes a note",
      [
        { type: "text", text: "a" },
        { type: "image", mimeType: "image/png", data: "xx" },
      ],
      "a\n[image not shown: image/png]",
    ],
    ["everything else is JSON that keeps its characters", { a: "你好" }, '{"a":"你好"}'],
    ["an empty list", [], "[]"],
    ["a list of numbers", [1], "[1]"],
    ["nothing", undefined, "null"],
  ])("%s", (_, result, expected) => {
    expect(ok(result).text).toBe(expected);
  });

  it("begins errors with their prefix and adds what a failed tool had to show", () => {
    expect(failed("broken").text).toBe("Error: broken");
    expect(failed("broken", { stdout: "x" }).text).toBe('Error: broken\n{"stdout":"x"}');
  });

  it("does not show the wish to end the run", () => {
    expect(ok({ terminate: true, a: 1 })).toMatchObject({ text: '{"a":1}', terminate: true });
    expect(ok({ terminate: "yes" })).toMatchObject({ text: "{}", terminate: false });
  });
});

describe("bounding", () => {
  it("leaves a text below the limit identical", () => {
    proves("BOUND-01");
    const bounded = boundResult(ok("short"), { maxChars: 5, savedPath: null });
    expect(bounded).toEqual({ modelText: "short", eventResult: "short" });
  });

  it("keeps exactly the first characters and names both figures", () => {
    proves("BOUND-02");
    const { modelText } = boundResult(ok("abcdefghi"), { maxChars: 4, savedPath: null });
    expect(modelText).toMatch(/^abcd\n\[tool result truncated: original_chars=9, kept_chars=4\. .+\]$/);
  });

  it("counts the error prefix as kept, and never loses it", () => {
    proves("BOUND-03");
    const { modelText } = boundResult(failed("x".repeat(90)), { maxChars: 24, savedPath: null });
    expect(modelText).toMatch(/^Error: x{17}\n\[tool result truncated: original_chars=97, kept_chars=24\./);
    expect(boundResult(failed("abc"), { maxChars: 2, savedPath: null }).modelText).toMatch(
      /^Error: \n\[.*kept_chars=7/,
    );
  });

  it("shows events a preview", () => {
    proves("BOUND-04");
    expect(boundResult(ok("é".repeat(9)), { maxChars: 4, savedPath: null }).eventResult).toEqual({
      type: "tool_result_preview",
      truncated: true,
      reason: "tool_result_truncated",
      original_chars: 9,
      original_bytes: 18,
      kept_preview_chars: 4,
      preview: "éééé",
    });
  });

  it("never splits a character, and keeps the marker within 300 characters", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 }),
        fc.nat(20),
        fc.string({ maxLength: 600 }),
        (value, limit, path) => {
          const maxChars = limit + 1;
          const { modelText } = boundResult(ok(value), { maxChars, savedPath: path });
          const characters = Array.from(value);
          const head = characters.slice(0, maxChars).join("");
          const marker = Array.from(modelText.slice(head.length));
          expect(modelText.startsWith(head)).toBe(true);
          expect(marker.join("")).toMatch(
            characters.length <= maxChars ? /^$/ : /^\n\[tool result truncated: /,
          );
          expect(marker.length).toBeLessThanOrEqual(301);
        },
      ),
    );
  });

  it("names the place of the full text, which is saved where a box is bound", async () => {
    const long = "line\n".repeat(1000);
    using model = new ScriptedModel([calls([{ id: "c1", name: "exec" }]), text("Done.")]);
    const run = await runAgent({
      models: { main: model },
      tools: { exec: { effect: { kind: "box.exec" }, run: () => long } },
      apis: { box: true, box_export_paths: true },
      config: { "max-tool-result-chars": 100 },
    });
    expect(run.ended[0]?.model_text).toContain("The full text is in /workspace/.tool-results/c1");
    expect(run.host.saved.get("c1")).toBe(long);
    expect(run.ended[0]?.result).toMatchObject({ type: "tool_result_preview", original_chars: 5000 });
  });
});

function found(value: unknown) {
  return findReferences(value, { includeRoot: false });
}

describe.each(BOTH_MODES)("floods, $mode", ({ streaming }) => {
  it("reach the model as previews with a pointer to the full text, round after round", async () => {
    const flood = "0123456789".repeat(70_000);
    using model = new ScriptedModel([
      calls([{ id: "c1", name: "exec", arguments: { n: 1 } }]),
      calls([{ id: "c2", name: "exec", arguments: { n: 2 } }]),
      text("Done."),
    ]);
    const run = await runAgent({
      streaming,
      models: { main: model },
      tools: { exec: { effect: { kind: "box.exec" }, run: ({ n }) => `${String(n)}${flood}` } },
      apis: { box: true, box_export_paths: true },
    });
    const answers = model.request().messages.filter(({ role }) => role === "tool");
    expect(answers.map(({ content }) => content)).toEqual([
      textLike(
        /^1(0123456789){1999}012345678\n\[.*original_chars=700001, kept_chars=20000.*\.tool-results\/c1;/,
      ),
      textLike(/^2.*\.tool-results\/c2;/s),
    ]);
    expect(JSON.stringify(model.request()).length).toBeLessThan(50_000);
    expect(run.ended.map(({ result }) => result)).toEqual([
      expect.objectContaining({ type: "tool_result_preview" }),
      expect.objectContaining({ type: "tool_result_preview" }),
    ]);
  });
});

describe("references", () => {
  const files = [
    { path: "/workspace/a.png", size: 3, junk: { deep: 1 } },
    { url: "https://example.org/b" },
    { name: "no place" },
  ];

  it("are named beside the result, and survive when its body is cut", () => {
    const small = boundResult(ok({ files }), { maxChars: 1000, savedPath: null }).modelText;
    const refs = [{ path: "/workspace/a.png", size: 3 }, { url: "https://example.org/b" }];
    expect(JSON.parse(small)).toMatchObject({
      type: "tool_result_references",
      file_refs: refs,
      result: { files },
      truncated: false,
    });
    const cut = boundResult(ok({ body: "x".repeat(50), files }), { maxChars: 20, savedPath: null }).modelText;
    expect(JSON.parse(cut)).toMatchObject({
      file_refs: refs,
      truncated: true,
      preview: '{"body":"xxxxxxxxxxx',
    });
    expect(JSON.parse(cut)).not.toHaveProperty("result");
  });

  it("are looked for under the known keys only, six levels deep, twenty at most", () => {
    expect(found({ path: "/workspace/a" })).toEqual([]);
    expect(findReferences({ path: "/workspace/a" }, { includeRoot: true })).toEqual([
      { path: "/workspace/a" },
    ]);
    expect(found({ file_refs: ["/workspace/a"], elsewhere: files })).toEqual([{ path: "/workspace/a" }]);
    expect(found({ items: Array.from({ length: 30 }, (_, i) => ({ path: `/${i}` })) })).toHaveLength(20);
    const nest = (depth: number): unknown => (depth === 0 ? { path: "/x" } : { result: nest(depth - 1) });
    expect(found(nest(6))).toHaveLength(1);
    expect(found(nest(7))).toHaveLength(0);
    expect(found("text")).toEqual([]);
  });
});
