import { describe, expect, it } from "vitest";
import { MAX_FOREIGN_TOOLS, safeToolName, takeForeignTools } from "../../../src/domain/foreign-tools.js";

const FROM = { source: "mcp", source_id: "docs", effect: { kind: "none" } } as const;
const aForeignTool = (name: string, fields = {}) => ({
  name,
  description: "Finds.",
  parameters: { type: "object" },
  ...fields,
});

describe("takeForeignTools", () => {
  it("gives each tool its source and effect", () => {
    expect(takeForeignTools([aForeignTool("find")], FROM)).toEqual({
      tools: [{ ...FROM, tool_name: "find", description: "Finds.", parameters: { type: "object" } }],
      warnings: [],
    });
  });

  it("leaves out what models cannot take, each with a warning, and keeps the others", () => {
    const { tools, warnings } = takeForeignTools(
      [
        aForeignTool("find"),
        aForeignTool("find"),
        aForeignTool("find it"),
        aForeignTool(""),
        aForeignTool("n".repeat(65)),
        aForeignTool("big", { parameters: { description: "x".repeat(65_536) } }),
      ],
      FROM,
    );
    expect(tools.map(({ tool_name }) => tool_name)).toEqual(["find"]);
    expect(warnings).toHaveLength(5);
    expect(warnings[0]).toEqual({
      code: "tools.left_out",
      message: 'The tool "find" of mcp "docs" is left out: another one has that name already.',
    });
  });

  it("cuts long descriptions at whole characters", () => {
    const [tool] = takeForeignTools([aForeignTool("find", { description: "🙂".repeat(5000) })], FROM).tools;
    expect(tool?.description).toBe("🙂".repeat(4096));
  });

  it("takes so many tools of one source and says so", () => {
    const many = Array.from({ length: MAX_FOREIGN_TOOLS + 3 }, (_, i) => aForeignTool(`t${i}`));
    const { tools, warnings } = takeForeignTools(many, FROM);
    expect(tools).toHaveLength(MAX_FOREIGN_TOOLS);
    expect(warnings.map(({ message }) => message)).toEqual([
      'mcp "docs" lists 259 tools; the first 256 are taken.',
    ]);
  });
});

describe("safeToolName", () => {
  it.each([
    ["browser.click", "browser_click"],
    ["文件", "__"],
    ["n".repeat(80), "n".repeat(64)],
    ["ok-Name_1", "ok-Name_1"],
  ])("%j becomes %j", (name, safe) => {
    expect(safeToolName(name)).toBe(safe);
  });
});
