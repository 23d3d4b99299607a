import { describe, expect, it } from "vitest";
import type { ResourcePolicy } from "../../../src/domain/binding.js";
import type { ToolResource } from "../../../src/domain/tool.js";
import { authoriseTools, wantsSource } from "../../../src/runs/authorise-tools.js";
import { aBinding, aDescriptor, aPolicy, aTool } from "../../support/builders.js";
import { proves } from "../../support/proves.js";

const NATIVE = [aTool(), aTool({ tool_name: "read" })];
const HOST_NAMES = new Set(["exec", "read", "job", "activate"]);

function toolOf(server: string, name: string, fields: Partial<ToolResource> = {}): ToolResource {
  return aTool({ source: "mcp", source_id: server, tool_name: name, effect: { kind: "none" }, ...fields });
}

const FOREIGN = [toolOf("docs", "find"), toolOf("web", "fetch")];

interface Case {
  readonly config?: Readonly<Record<string, unknown>>;
  readonly policy?: Partial<ResourcePolicy>;
  readonly tools?: readonly ToolResource[];
}

function authorise(
  { config = {}, policy = {}, tools = [...NATIVE, ...FOREIGN] }: Case,
  descriptor = aDescriptor(),
) {
  const binding = aBinding({ config, policy: aPolicy(policy) });
  const { granted, warnings } = authoriseTools(binding, descriptor, { tools, hostNames: HOST_NAMES });
  return {
    tools: granted.map(({ source, source_id, tool_name }) =>
      source === "native" ? tool_name : `${source}:${source_id}/${tool_name}`,
    ),
    warnings: warnings.map(({ message }) => message),
  };
}

const granted = (given: Case) => authorise(given).tools;

describe("authoriseTools: scope", () => {
  it("grants every native tool where the policy names none", () => {
    expect(granted({})).toEqual(["exec", "read"]);
  });

  it("grants the intersection of what is selected and what the policy allows", () => {
    proves("AUTH-06");
    expect(granted({ policy: { allowed_tool_names: ["read", "elsewhere"] } })).toEqual(["read"]);
    const config = { tools: ["find", "fetch", "nowhere"] };
    expect(granted({ config, policy: { allowed_tool_names: ["read", "mcp:docs/find"] } })).toEqual([
      "read",
      "mcp:docs/find",
    ]);
  });

  it("grants the tool job together with exec, and never without", () => {
    const tools = [...NATIVE, aTool({ tool_name: "job" })];
    expect(granted({ tools, policy: { allowed_tool_names: ["exec"] } })).toEqual(["exec", "job"]);
    expect(granted({ tools, policy: { allowed_tool_names: ["job", "read"] } })).toEqual(["read"]);
  });

  it("ties a tool of others that is called job to no grant of exec", () => {
    const tools = [toolOf("docs", "jobs")];
    const policy = { allowed_tool_names: ["jobs"] };
    expect(granted({ tools, policy, config: { tools: ["jobs"] } })).toEqual(["mcp:docs/jobs"]);
  });

  it("takes tools from the sources that the policy allows, and from no others", () => {
    const policy = { allowed_tool_sources: [{ source: "mcp", source_id: "web" }] };
    expect(granted({ policy, config: { "enable-all-tools": true } })).toEqual(["mcp:web/fetch"]);
    const both = {
      allowed_tool_sources: [{ source: "native", source_id: "berth" }, ...policy.allowed_tool_sources],
    };
    expect(granted({ policy: both, config: { tools: ["find"] } })).toEqual(["exec", "read"]);
  });

  it("grants no tool to a runner without the permission, whatever the binding grants", () => {
    proves("AUTH-04");
    const descriptor = aDescriptor({ permissions: { tools: ["detail"] } });
    const config = { "enable-all-tools": true, tools: ["find"] };
    expect(authorise({ config }, descriptor).tools).toEqual([]);
    const policy = { allowed_tool_names: ["exec", "mcp:docs/*"] };
    expect(authorise({ config, policy }, descriptor).tools).toEqual([]);
  });

  it("grants no tool to a runner without the capability", () => {
    expect(authorise({}, aDescriptor({ capabilities: { streaming: true } })).tools).toEqual([]);
  });
});

describe("authoriseTools: selection", () => {
  it("leaves of the tools of others only those that are selected", () => {
    expect(granted({ config: { tools: ["find"] } })).toEqual(["exec", "read", "mcp:docs/find"]);
    expect(granted({ config: { tools: [" mcp:web/* "] } })).toEqual(["exec", "read", "mcp:web/fetch"]);
  });

  it("leaves all of them with enable-all-tools, where the policy lets a config ask for all", () => {
    const config = { "enable-all-tools": true };
    expect(granted({ config })).toEqual(["exec", "read", "mcp:docs/find", "mcp:web/fetch"]);
    expect(granted({ config, policy: { allow_all_tools: false } })).toEqual(["exec", "read"]);
  });

  it.each(["true", 1, {}, [], null, "yes"])("takes enable-all-tools: %j for false", (value) => {
    proves("AUTH-05");
    expect(granted({ config: { "enable-all-tools": value } })).toEqual(["exec", "read"]);
    expect(granted({ config: { "enable-all-tools": value, tools: ["fetch"] } })).toEqual([
      "exec",
      "read",
      "mcp:web/fetch",
    ]);
  });

  it.each(["find", { find: true }, [["find"]], [{ name: "find" }], 7, null])(
    "selects nothing by tools: %j",
    (tools) => {
      expect(granted({ config: { tools } })).toEqual(["exec", "read"]);
    },
  );
});

describe("authoriseTools: names", () => {
  const tools = [...NATIVE, toolOf("a", "search"), toolOf("b", "search"), toolOf("b", "other")];

  it("hides a name that two sources offer, and says which grants would decide", () => {
    const given = authorise({ tools, config: { "enable-all-tools": true } });
    expect(given.tools).toEqual(["exec", "read", "mcp:b/other"]);
    expect(given.warnings).toEqual([
      'The tool "search" is hidden: 2 sources offer it. Name one in the grant: mcp:a/search or mcp:b/search.',
    ]);
  });

  it.each([
    { config: { "enable-all-tools": true, tools: ["mcp:b/search"] } },
    { config: { tools: ["search", "mcp:b/search", "other"] } },
    { config: { tools: ["mcp:b/*"] } },
    {
      config: { "enable-all-tools": true },
      policy: { allowed_tool_names: ["exec", "read", "search", "mcp:b/*"] },
    },
  ])("gives it to the source that a grant names: %j", (given) => {
    expect(authorise({ ...given, tools })).toEqual({
      tools: ["exec", "read", "mcp:b/search", "mcp:b/other"],
      warnings: [],
    });
  });

  it("hides it still where the grants name both", () => {
    expect(granted({ tools, config: { tools: ["mcp:a/search", "mcp:b/search"] } })).toEqual(["exec", "read"]);
  });

  it("never lets another source take a name of the service, granted or not, named or not", () => {
    const shadows = [...NATIVE, toolOf("a", "exec"), toolOf("a", "activate"), toolOf("a", "job")];
    const given = authorise({
      tools: shadows,
      config: { "enable-all-tools": true, tools: ["mcp:a/exec", "mcp:a/activate"] },
      policy: { allowed_tool_names: ["read", "mcp:a/*"] },
    });
    expect(given.tools).toEqual(["read"]);
    expect(given.warnings).toContain(
      'The tool "exec" of mcp "a" is hidden: the service has a tool of that name.',
    );
    expect(given.warnings).toHaveLength(3);
  });
});

describe("authoriseTools: resource reading", () => {
  const reader = { reads_resources: true } as const;
  const tools = [
    toolOf("a", "list_mcp_resources_a", reader),
    toolOf("b", "list_mcp_resources_b", reader),
    toolOf("c", "read_mcp_resource"),
  ];
  const all = { "enable-all-tools": true };

  it("is there where nothing forbids it", () => {
    expect(granted({ tools, config: all })).toHaveLength(3);
    expect(granted({ tools, config: { ...all, "mcp-resource-agent-read-enabled": true } })).toHaveLength(3);
  });

  it.each([false, "true", 1, null])(
    "goes with mcp-resource-agent-read-enabled: %j, and no tool of another kind goes for its name",
    (value) => {
      const config = { ...all, "mcp-resource-agent-read-enabled": value };
      expect(granted({ tools, config })).toEqual(["mcp:c/read_mcp_resource"]);
    },
  );
});

function wants(given: Omit<Case, "tools">, descriptor = aDescriptor()) {
  return wantsSource(
    aBinding({ config: given.config ?? {}, policy: aPolicy(given.policy ?? {}) }),
    descriptor,
  );
}

describe("wantsSource", () => {
  const DOCS = { source: "mcp", source_id: "docs" };
  const ANY_PLUGIN = { source: "plugin", source_id: null };
  it("asks the service itself always, for its names are taken always", () => {
    const policy = { allowed_tool_sources: [DOCS], allowed_tool_names: [] };
    expect(wants({ policy })({ source: "native", source_id: "berth" })).toBe(true);
  });

  it("asks nobody for a runner that may call no tools", () => {
    const none = wants({ config: { "enable-all-tools": true } }, aDescriptor({ capabilities: {} }));
    expect([none(DOCS), none({ source: "native", source_id: "berth" })]).toEqual([false, false]);
  });

  it("asks a source of others only where the config selects something that could be of it", () => {
    expect(wants({})(DOCS)).toBe(false);
    expect(wants({ config: { tools: ["mcp:web/fetch"] } })(DOCS)).toBe(false);
    expect(wants({ config: { tools: ["mcp:docs/find"] } })(DOCS)).toBe(true);
    expect(wants({ config: { tools: ["find"] } })(DOCS)).toBe(true);
    expect(wants({ config: { "enable-all-tools": true } })(DOCS)).toBe(true);
    expect(wants({ config: { tools: ["plugin:alice/calc/add"] } })(ANY_PLUGIN)).toBe(true);
    expect(wants({ config: { tools: ["mcp:docs/find"] } })(ANY_PLUGIN)).toBe(false);
  });

  it("asks no source that the policy shuts out", () => {
    const config = { "enable-all-tools": true };
    expect(wants({ config, policy: { allowed_tool_names: ["mcp:web/*"] } })(DOCS)).toBe(false);
    expect(wants({ config, policy: { allowed_tool_names: ["find"] } })(DOCS)).toBe(true);
    const allowed_tool_sources = [{ source: "plugin", source_id: "alice/calc" }];
    expect(wants({ config, policy: { allowed_tool_sources } })(DOCS)).toBe(false);
    expect(wants({ config, policy: { allowed_tool_sources } })(ANY_PLUGIN)).toBe(true);
  });
});
