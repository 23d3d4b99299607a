import { describe, expect, it } from "vitest";
import { resourcePolicySchema, runnerConfigSchema } from "../../../src/domain/binding.js";

describe("resourcePolicySchema", () => {
  it("grants every native tool, every skill and plugin storage, and nothing else, where nothing is said", () => {
    expect(resourcePolicySchema.parse({})).toEqual({
      allowed_model_uuids: [],
      allowed_tool_names: null,
      allowed_tool_sources: null,
      allow_all_tools: true,
      allowed_kb_uuids: [],
      allowed_skill_names: null,
      allow_plugin_storage: true,
      allow_workspace_storage: false,
      administrator: false,
    });
  });

  it.each([
    { allow_everything: true },
    { allowed_tool_names: "exec" },
    { allow_plugin_storage: "true" },
    { allowed_tool_sources: [{ source: "mcp" }] },
  ])("refuses %j", (policy) => {
    expect(resourcePolicySchema.safeParse(policy).success).toBe(false);
  });
});

describe("runnerConfigSchema", () => {
  it("takes any object as it is written and nothing else", () => {
    const config = { "box-session-id-template": "{launcher_id}", deep: { list: [1] } };
    expect(runnerConfigSchema.parse(config)).toEqual(config);
    expect(runnerConfigSchema.safeParse(["x"]).success).toBe(false);
    expect(runnerConfigSchema.safeParse(null).success).toBe(false);
  });
});
