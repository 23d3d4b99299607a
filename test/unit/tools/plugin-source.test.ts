import { describe, expect, it } from "vitest";
import { ServiceError } from "../../../src/domain/errors.js";
import type { ToolOutcome } from "../../../src/domain/tool.js";
import type { PluginPackage } from "../../../src/ports/plugin-packages.js";
import type { ToolScope } from "../../../src/ports/tool-source.js";
import { PluginToolSource } from "../../../src/tools/plugin-source.js";
import { aTool } from "../../support/builders.js";

const { signal } = new AbortController();

function aPackage(id: string, ...names: readonly string[]): PluginPackage {
  const tools = names.map((name) => ({ name, description: "Adds.", parameters: { type: "object" } }));
  return { id, version: "1.0.0", runnerManifests: [], tools, listensTo: [] };
}

async function call(of: PluginToolSource): Promise<unknown> {
  const resource = aTool({ source: "plugin", source_id: "alice/calc", tool_name: "add" });
  for await (const event of of.run({ id: "call_1", resource, input: { a: 1 } }, null, { signal }))
    return event;
  return null;
}

describe("PluginToolSource", () => {
  const packages = [
    aPackage("alice/calc", "add", "no name"),
    aPackage("bob/time", "now"),
    aPackage("eve/none"),
  ];
  const source = (callTool: () => Promise<ToolOutcome>) =>
    new PluginToolSource({ generation: 1, list: async () => packages, callTool });
  const idle = source(async () => ({ ok: true, result: null }));
  const list = (scope: Partial<ToolScope> = {}) =>
    idle.list({ tenant: "main", allowedPackages: null, wants: () => true, box: null, ...scope }, { signal });

  it("lists the tools of each package under the package's id", async () => {
    const { tools, warnings } = await list();
    expect(tools.map(({ source_id, tool_name, effect }) => [source_id, tool_name, effect.kind])).toEqual([
      ["alice/calc", "add", "none"],
      ["bob/time", "now", "none"],
    ]);
    expect(warnings).toHaveLength(1);
  });

  it("lists only packages that the bot may use and the run wants", async () => {
    expect((await list({ allowedPackages: ["bob/time"] })).tools).toHaveLength(1);
    expect((await list({ wants: ({ source_id }) => source_id === "bob/time" })).tools).toHaveLength(1);
    expect((await list({ allowedPackages: [] })).tools).toEqual([]);
  });

  it("asks the packages again when one was installed or restarted, and while there is none", async () => {
    let lists = 0;
    const given = {
      generation: 1,
      listed: packages,
      list: async () => {
        lists += 1;
        return given.listed;
      },
      callTool: async (): Promise<ToolOutcome> => ({ ok: true, result: null }),
    };
    const of = new PluginToolSource(given);
    const scope: ToolScope = { tenant: "main", allowedPackages: null, wants: () => true, box: null };
    await of.list(scope, { signal });
    await of.list(scope, { signal });
    expect(lists).toBe(1);
    Object.assign(given, { generation: 2, listed: [] });
    await of.list(scope, { signal });
    await of.list(scope, { signal });
    expect(lists).toBe(3);
  });

  it("calls the tool in its package", async () => {
    const called: unknown[] = [];
    const of = new PluginToolSource({
      generation: 1,
      list: async () => packages,
      callTool: async (tool, parameters) => {
        called.push(tool, parameters);
        return { ok: true, result: 3 };
      },
    });
    expect(await call(of)).toEqual({ type: "outcome", outcome: { ok: true, result: 3 } });
    expect(called).toEqual([{ packageId: "alice/calc", name: "add" }, { a: 1 }]);
  });

  it("tells what went wrong without places of the host", async () => {
    const error = "ENOENT: open '/srv/plugins/calc/table.json' (and/or more)";
    const of = source(async () => ({ ok: false, error }));
    expect(await call(of)).toMatchObject({ outcome: { error: "ENOENT: open '[path]' (and/or more)" } });
  });

  it("makes a failure of the package the tool's own", async () => {
    const failing = source(async () =>
      Promise.reject(new ServiceError("runner.error", "The package ended.")),
    );
    expect(await call(failing)).toEqual({
      type: "outcome",
      outcome: { ok: false, error: "The package ended." },
    });
  });
});
