import { describe, expect, it } from "vitest";
import { authoriseTools } from "../../../src/runs/authorise-tools.js";
import { aBinding, aDescriptor, aPolicy, aTool } from "../../support/builders.js";
import { proves } from "../../support/proves.js";

const TOOLS = [aTool(), aTool({ tool_name: "read" })];

function toolNames(allowed: string[] | null, descriptor = aDescriptor(), tools = TOOLS): string[] {
  const binding = aBinding({ policy: aPolicy({ allowed_tool_names: allowed }) });
  return authoriseTools(binding, descriptor, tools).map(({ tool_name }) => tool_name);
}

describe("authoriseTools", () => {
  it("grants every native tool where the policy names none", () => {
    expect(toolNames(null)).toEqual(["exec", "read"]);
  });

  it("grants the intersection of what the policy names and what there is", () => {
    proves("AUTH-06");
    expect(toolNames(["read", "elsewhere"])).toEqual(["read"]);
  });

  it("grants the tool job together with exec, and never without", () => {
    const tools = [...TOOLS, aTool({ tool_name: "job" })];
    expect(toolNames(["exec"], aDescriptor(), tools)).toEqual(["exec", "job"]);
    expect(toolNames(["job", "read"], aDescriptor(), tools)).toEqual(["read"]);
  });

  it("grants no tool to a runner without the permission, whatever the binding grants", () => {
    proves("AUTH-04");
    const descriptor = aDescriptor({ permissions: { tools: ["detail"] } });
    expect(toolNames(null, descriptor)).toEqual([]);
    expect(toolNames(["exec"], descriptor)).toEqual([]);
  });

  it("grants no tool to a runner without the capability", () => {
    expect(toolNames(null, aDescriptor({ capabilities: { streaming: true } }))).toEqual([]);
  });
});
