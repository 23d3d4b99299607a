import { describe, expect, it } from "vitest";
import { describeContents, describeToolResult } from "../../../../src/adapters/mcp/describe-result.js";
import { MAX_KEPT_BYTES } from "../../../../src/adapters/mcp/limits.js";
import { textLike } from "../../../support/text-like.js";
import { FakeToolBox } from "../../tools/fake-tool-box.js";

const { signal } = new AbortController();
const image = (data: string, mimeType = "image/png") => ({ type: "image", data, mimeType });

async function textOf(content: readonly unknown[], box: FakeToolBox | null = null): Promise<unknown> {
  const outcome = await describeToolResult({ content }, { callId: "call_1", box }, { signal });
  return outcome.ok ? outcome.result : outcome.error;
}

describe("describeToolResult", () => {
  it("joins texts by lines", async () => {
    expect(
      await textOf([
        { type: "text", text: "a" },
        { type: "text", text: "b" },
      ]),
    ).toBe("a\nb");
  });

  it("keeps binary parts as files of the box, and tells where", async () => {
    const box = new FakeToolBox();
    const told = await textOf([image("aGVsbG8="), image("d29ybGQ=", "audio/none")], box);
    const [first, second] = [...box.tree.keys()];
    expect(told).toBe(
      `[image image/png, 5 bytes, kept as ${first}]\n[image audio/none, 5 bytes, kept as ${second}]`,
    );
    expect(first).toMatch(/\/mcp-[0-9a-f]{24}-1\.png$/u);
    expect(second).toMatch(/-2\.bin$/u);
  });

  it("keeps no more than the limits, and nothing where the workspace is read-only", async () => {
    const box = new FakeToolBox();
    const many = Array.from({ length: 9 }, () => image("aGVsbG8="));
    expect(await textOf(many, box)).toContain("not kept: 8 files of one result are the limit");
    expect(await textOf([image("A".repeat(MAX_KEPT_BYTES * 2))], box)).toContain("not kept: larger than");
    const shut = new FakeToolBox();
    shut.settings = { ...shut.settings, workspaceMode: "ro" };
    expect(await textOf([image("aGVsbG8=")], shut)).toContain("not kept: there is no box");
    expect(shut.tree.size).toBe(0);
  });

  it("says so when the box does not take a file", async () => {
    const box = new FakeToolBox();
    box.isLost = true;
    expect(await textOf([image("aGVsbG8=")], box)).toBe(
      "[image image/png, 5 bytes, not kept: the box did not take it]",
    );
  });

  it("shows embedded resources and links", async () => {
    const content = [
      { type: "resource", resource: { uri: "memo://a", text: "note" } },
      { type: "resource", resource: { uri: "memo://b", blob: "aGVsbG8=", mimeType: "application/pdf" } },
      { type: "resource_link", uri: "memo://c", name: "third" },
      { type: "hologram" },
      7,
    ];
    expect(await textOf(content)).toBe(
      [
        "[resource memo://a]\nnote",
        "[resource memo://b] [file application/pdf, 5 bytes, not kept: there is no box to keep it in]",
        "[resource third memo://c]",
        "[a part of an unknown kind]",
        "[a part of an unknown kind]",
      ].join("\n"),
    );
  });

  it("takes so many parts", async () => {
    const many = Array.from({ length: 258 }, () => ({ type: "text", text: "a" }));
    expect(await textOf(many)).toMatch(/a\n\[2 more parts are left out; 256 are the limit\]$/u);
  });

  it("gives structured content where there is no text, cut when it is long", async () => {
    const of = { callId: "call_1", box: null };
    const answer = { content: [], structuredContent: { count: 3 } };
    expect(await describeToolResult(answer, of, { signal })).toEqual({ ok: true, result: { count: 3 } });
    const long = { structuredContent: { text: "x".repeat(600_000) } };
    const outcome = await describeToolResult(long, of, { signal });
    expect(outcome).toMatchObject({ ok: true, result: textLike(/\[cut here: /) });
    const both = { content: [{ type: "text", text: "3" }], structuredContent: { count: 3 } };
    expect(await describeToolResult(both, of, { signal })).toEqual({ ok: true, result: "3" });
  });

  it("makes an error of what the server calls one, whatever it says", async () => {
    const of = { callId: "call_1", box: null };
    expect(await describeToolResult({ isError: true }, of, { signal })).toEqual({
      ok: false,
      error: "The tool failed and said nothing.",
    });
    await expect(describeToolResult("nonsense", of, { signal })).rejects.toThrow(/expected object/);
  });
});

describe("describeContents", () => {
  it("shows what was read, with its uri", async () => {
    const contents = [{ uri: "memo://a", text: "one" }, { uri: "memo://b" }, "nonsense"];
    const outcome = await describeContents({ contents }, { callId: "call_1", box: null }, { signal });
    expect(outcome).toEqual({
      ok: true,
      result: "[resource memo://a]\none\n[resource memo://b]\n\n[a part of an unknown kind]",
    });
  });
});
