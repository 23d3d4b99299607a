import { describe, expect, it } from "vitest";
import type { PluginPackage } from "../../../src/ports/plugin-packages.js";
import { discoverRunners } from "../../../src/runs/discover-runners.js";
import { aManifest } from "../../fakes/scripted-packages.js";

const NONE: ReadonlySet<string> = new Set();

function aPackage(id: string, ...runnerManifests: readonly unknown[]): PluginPackage {
  return { id, version: "2.0.0", runnerManifests, tools: [], listensTo: [] };
}

describe("discoverRunners", () => {
  it("takes author, name and version of the package where the manifest is silent", () => {
    const manifest = aManifest();
    const { descriptors, refused } = discoverRunners([aPackage("alice/echo", manifest)], NONE);
    expect(descriptors).toMatchObject([
      {
        id: "plugin:alice/echo/default",
        source: "plugin",
        plugin_author: "alice",
        plugin_name: "echo",
        plugin_version: "2.0.0",
        raw_manifest: manifest,
      },
    ]);
    expect(refused).toEqual([]);
  });

  it("leaves the manifest its own version", () => {
    const manifest = aManifest({ metadata: { version: "9" } });
    expect(discoverRunners([aPackage("alice/echo", manifest)], NONE).descriptors).toMatchObject([
      { plugin_version: "9" },
    ]);
  });

  it("refuses a manifest in the name of another package", () => {
    const manifest = aManifest({ metadata: { author: "bob" } });
    expect(discoverRunners([aPackage("alice/echo", manifest)], NONE)).toEqual({
      descriptors: [],
      refused: [{ packageId: "alice/echo", reason: "it claims to be of the package bob/echo" }],
    });
  });

  it("lets no package take the place of a runner that ships", () => {
    const taken = new Set(["plugin:berth/local-agent/default"]);
    const { descriptors, refused } = discoverRunners([aPackage("berth/local-agent", aManifest())], taken);
    expect(descriptors).toEqual([]);
    expect(refused).toMatchObject([{ reason: "plugin:berth/local-agent/default ships with the service" }]);
  });

  it("keeps the first of two runners with one id", () => {
    const twice = aPackage("alice/echo", aManifest(), aManifest({ metadata: { label: { en: "Again" } } }));
    const { descriptors, refused } = discoverRunners([twice], NONE);
    expect(descriptors).toMatchObject([{ label: { en: "Runner default" } }]);
    expect(refused).toMatchObject([{ reason: "plugin:alice/echo/default stands there twice" }]);
  });

  it.each([
    [null, "manifest"],
    ["a text", "manifest"],
    [{ ...aManifest(), metadata: null }, "metadata"],
    [aManifest({ kind: "Tool" }), "kind"],
    [aManifest({ name: "with space" }), "metadata.name"],
    [aManifest({ capabilities: { flying: true } }), "spec.capabilities"],
    [aManifest({ permissions: { models: ["delete"] } }), "spec.permissions.models.0"],
    [aManifest({ config: [{ name: "x", type: "colour", label: {} }] }), "spec.config.0.type"],
  ])("names the place that is wrong in %j", (manifest, place) => {
    const { refused } = discoverRunners([aPackage("alice/echo", manifest)], NONE);
    expect(refused.map(({ reason }) => reason.split(":")[0])).toEqual([place]);
  });
});
