import { describe, expect, it } from "vitest";
import { authoriseResources } from "../../../src/runs/authorise-resources.js";
import { aBinding, aDescriptor, aModel, anOffer, aPolicy, aTool, modelsOf } from "../../support/builders.js";
import { proves } from "../../support/proves.js";

const SKILLS = ["charts", "reports"].map((name) => ({
  skill_name: name,
  display_name: name.toUpperCase(),
  description: `Makes ${name}.`,
}));

function storageOf(permitted: readonly string[], policy: Parameters<typeof aPolicy>[0]) {
  const descriptor = aDescriptor({ permissions: { storage: permitted } });
  return authoriseResources(aBinding({ policy: aPolicy(policy) }), descriptor, anOffer()).resources.storage;
}

describe("authoriseResources", () => {
  it("gives the resources of every kind, and the warnings of all", () => {
    const offer = anOffer({
      models: modelsOf(aModel()),
      tools: [aTool()],
      knowledgeBases: new Map([["manual", { id: "manual", name: "Manual" }]]),
      skills: SKILLS,
    });
    const policy = aPolicy({ allowed_model_uuids: ["main", "gone"], allowed_kb_uuids: ["manual", "lost"] });
    const permissions = { models: ["invoke"], tools: ["call"], knowledge_bases: ["retrieve"] };
    const authorised = authoriseResources(aBinding({ policy }), aDescriptor({ permissions }), offer);
    expect(authorised.resources).toMatchObject({
      models: [{ model_id: "main" }],
      tools: [{ tool_name: "exec" }],
      knowledge_bases: [{ kb_id: "manual" }],
      skills: SKILLS,
      storage: { plugin: false, workspace: false },
      platform_capabilities: [],
    });
    expect(authorised.warnings.map(({ code }) => code)).toEqual([
      "resources.model_missing",
      "resources.knowledge_base_missing",
    ]);
  });

  it.each([
    [null, ["charts", "reports"]],
    [["reports", "elsewhere"], ["reports"]],
    [[], []],
  ])("shows the skills that the policy %j lets be seen", (allowed, seen) => {
    const binding = aBinding({ policy: aPolicy({ allowed_skill_names: allowed }) });
    const { skills } = authoriseResources(binding, aDescriptor(), anOffer({ skills: SKILLS })).resources;
    expect(skills.map(({ skill_name }) => skill_name)).toEqual(seen);
  });

  it("grants storage only where manifest and binding both allow it", () => {
    proves("AUTH-08");
    const both = { allow_plugin_storage: true, allow_workspace_storage: true };
    expect(storageOf(["plugin", "workspace"], both)).toEqual({ plugin: true, workspace: true });
    expect(storageOf(["plugin", "workspace"], { ...both, allow_plugin_storage: false })).toEqual({
      plugin: false,
      workspace: true,
    });
    expect(storageOf(["plugin", "workspace"], {})).toEqual({ plugin: true, workspace: false });
    expect(storageOf(["workspace"], both)).toEqual({ plugin: false, workspace: true });
    expect(storageOf([], both)).toEqual({ plugin: false, workspace: false });
  });

  it("is not widened by what is changed afterwards, and cannot be changed itself", () => {
    const tools = [aTool()];
    const abilities = ["func_call" as const];
    const skills = [...SKILLS];
    const offer = anOffer({ models: modelsOf(aModel({ abilities })), tools, skills });
    const binding = aBinding({ policy: aPolicy({ allowed_model_uuids: ["main"] }) });
    const { resources } = authoriseResources(binding, aDescriptor(), offer);
    const before = structuredClone(resources);
    tools.push(aTool({ tool_name: "read" }));
    abilities.push("func_call");
    skills.length = 0;
    expect(resources).toEqual(before);
    expect(() => Object.assign(resources.models[0] ?? {}, { model_id: "spare" })).toThrow(TypeError);
    expect(() => Object.assign(resources.tools, [aTool({ tool_name: "read" })])).toThrow(TypeError);
    expect(() => Object.assign(resources.storage, { workspace: true })).toThrow(TypeError);
  });
});
