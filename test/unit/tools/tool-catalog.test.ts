import { describe, expect, it } from "vitest";
import { ServiceError } from "../../../src/domain/errors.js";
import type { ToolScope, ToolSource } from "../../../src/ports/tool-source.js";
import { ToolCatalog } from "../../../src/tools/tool-catalog.js";
import { KeptLogger } from "../../fakes/kept-logger.js";
import { aTool } from "../../support/builders.js";

const SCOPE: ToolScope = { tenant: "main", allowedPackages: null, wants: () => true, box: null };

function aSource(sourceId: string | null, fields: Partial<ToolSource> = {}): ToolSource {
  return {
    source: sourceId === null ? "plugin" : "mcp",
    sourceId,
    reservedNames: [],
    list: async () => ({
      tools: [aTool({ source: "mcp", source_id: sourceId ?? "", tool_name: `find_${sourceId}` })],
      warnings: [],
    }),
    run: async function* () {
      yield* [];
    },
    ...fields,
  };
}

describe("ToolCatalog", () => {
  const logger = new KeptLogger();
  const catalog = (...sources: readonly ToolSource[]) => new ToolCatalog({ sources, logger, listMs: 20 });
  const { signal } = new AbortController();

  it("lists the tools of all sources, in the order of the sources", async () => {
    const { tools } = await catalog(aSource("a"), aSource("b")).list(SCOPE, { signal });
    expect(tools.map(({ tool_name }) => tool_name)).toEqual(["find_a", "find_b"]);
  });

  it("asks only sources that are wanted", async () => {
    const scope = { ...SCOPE, wants: ({ source_id }: { source_id: string | null }) => source_id !== "a" };
    const { tools } = await catalog(aSource("a"), aSource(null)).list(scope, { signal });
    expect(tools.map(({ tool_name }) => tool_name)).toEqual(["find_null"]);
  });

  it.each([
    ["fails", async () => Promise.reject(new ServiceError("outbound.failed", "It is down."))],
    ["fails without a word", async () => Promise.reject(new TypeError("no"))],
    ["hangs", async () => new Promise<never>(() => undefined)],
  ])("loses only its own tools to a source that %s, and says so", async (_what, list) => {
    const listed = await catalog(aSource("a", { list }), aSource("b")).list(SCOPE, { signal });
    expect(listed.tools.map(({ tool_name }) => tool_name)).toEqual(["find_b"]);
    expect(listed.warnings).toHaveLength(1);
    expect(listed.warnings[0]?.message).toMatch(/^The tools of mcp "a" are missing: [iI]t /u);
    expect(listed.warnings[0]?.message).not.toContain("TypeError");
  });

  it("says what a source without an id is called", async () => {
    const source = aSource(null, { list: async () => Promise.reject(new Error("no")) });
    const { warnings } = await catalog(source).list(SCOPE, { signal });
    expect(warnings[0]?.message).toBe("The tools of plugin are missing: it failed in an unexpected way.");
  });

  it("leaves with the caller", async () => {
    const hanging = aSource("a", { list: async () => new Promise<never>(() => undefined) });
    const aborted = { signal: AbortSignal.abort(new Error("cancelled")) };
    await expect(catalog(hanging).list(SCOPE, aborted)).rejects.toThrow("cancelled");
  });

  it("finds the source of a frozen tool by name and id, never by one of them", () => {
    const [a, plugins] = [aSource("a"), aSource(null)];
    const of = catalog(a, plugins);
    expect(of.find({ source: "mcp", source_id: "a" })).toBe(a);
    expect(of.find({ source: "mcp", source_id: "b" })).toBeNull();
    expect(of.find({ source: "native", source_id: "a" })).toBeNull();
    expect(of.find({ source: "plugin", source_id: "alice/calc" })).toBe(plugins);
  });

  it("knows the names that are the service's own", () => {
    expect([...catalog(aSource("a"), aSource("b", { reservedNames: ["exec"] })).hostNames]).toEqual(["exec"]);
  });
});
