import { describe, expect, it } from "vitest";
import { z } from "zod";
import { parseRunnerId } from "../../../src/domain/runner-id.js";
import {
  capabilitiesSchema,
  describeRunner,
  permissionsSchema,
} from "../../../src/domain/runner-manifest.js";

function aManifest(fields: { metadata?: object; spec?: object; kind?: string } = {}) {
  return {
    kind: fields.kind ?? "AgentRunner",
    metadata: {
      name: "default",
      label: { en: "My agent" },
      author: "alice",
      plugin: "my-agent",
      version: "1.2.3",
      ...fields.metadata,
    },
    spec: { capabilities: {}, permissions: {}, ...fields.spec },
  };
}

describe("describeRunner", () => {
  it("makes the descriptor of a valid manifest", () => {
    const manifest = aManifest({
      metadata: { description: { en: "It helps." }, homepage: "https://host.example" },
      spec: {
        config: [{ name: "model", type: "model-fallback-selector", label: { en: "Model" }, required: true }],
        capabilities: { streaming: true },
        permissions: { models: ["stream"] },
      },
    });
    expect(describeRunner(manifest, "plugin")).toMatchObject({
      id: "plugin:alice/my-agent/default",
      source: "plugin",
      label: { en: "My agent" },
      description: { en: "It helps." },
      plugin_author: "alice",
      plugin_name: "my-agent",
      plugin_version: "1.2.3",
      runner_name: "default",
      protocol_version: "1",
      config_schema: [{ name: "model" }],
      capabilities: { streaming: true, steering: false },
      permissions: { models: ["stream"], tools: [] },
      raw_manifest: manifest,
    });
  });

  it("takes everything that is not declared as not there", () => {
    const { capabilities, permissions, config_schema, description } = describeRunner(aManifest(), "builtin");
    expect(new Set(Object.values(capabilities))).toEqual(new Set([false]));
    expect(Object.values(permissions).flat()).toEqual([]);
    expect(config_schema).toEqual([]);
    expect(description).toBeNull();
  });

  it.each([
    aManifest({ kind: "Tool" }),
    aManifest({ metadata: { name: undefined } }),
    aManifest({ metadata: { label: undefined } }),
    aManifest({ spec: { capabilities: { flying: true } } }),
    aManifest({ spec: { capabilities: { streaming: "yes" } } }),
    aManifest({ spec: { permissions: { models: ["train"] } } }),
    aManifest({ spec: { permissions: { secrets: ["read"] } } }),
    aManifest({ spec: { permissions: { platform_api: ["send"] } } }),
    aManifest({ spec: { capabilities: undefined } }),
    aManifest({ spec: { config: [{ name: "x", type: "colour", label: {} }] } }),
    null,
    "text",
  ])("refuses the manifest %#", (manifest) => {
    expect(() => describeRunner(manifest, "plugin")).toThrow(z.ZodError);
  });

  it.each(["a/b", "a b", ""])("refuses %j as a part of the id, which could not be read back", (text) => {
    for (const field of ["name", "author", "plugin"])
      expect(() => describeRunner(aManifest({ metadata: { [field]: text } }), "plugin")).toThrow(field);
  });

  it("gives an id that can be read back", () => {
    const { id } = describeRunner(aManifest({ metadata: { author: "Ä.b_c-1" } }), "plugin");
    expect(parseRunnerId(id)).toMatchObject({ author: "Ä.b_c-1", plugin: "my-agent", runner: "default" });
  });
});

describe("what a manifest may declare", () => {
  it("knows the capabilities of the protocol", () => {
    expect(Object.keys(capabilitiesSchema.parse({})).toSorted()).toEqual([
      "event_context",
      "interactions",
      "interrupt",
      "knowledge_retrieval",
      "multimodal_input",
      "platform_api",
      "skill_authoring",
      "stateful_session",
      "steering",
      "streaming",
      "tool_calling",
    ]);
  });

  it("knows the permissions of the protocol", () => {
    const all = {
      models: ["count_tokens", "invoke", "stream", "rerank"],
      tools: ["detail", "call"],
      knowledge_bases: ["list", "retrieve"],
      history: ["page", "search"],
      events: ["get", "page"],
      storage: ["plugin", "workspace"],
      files: ["capture"],
      interactions: ["request"],
      platform_api: [],
    };
    expect(permissionsSchema.parse(all)).toEqual(all);
  });
});
