import { describe, expect, it } from "vitest";
import { describeRunner } from "../../../src/domain/runner-manifest.js";
import { PackagedRunner } from "../../../src/runs/packaged-runner.js";
import { aManifest, type RunnerParts, ScriptedPackages } from "../../fakes/scripted-packages.js";
import { aPipeline } from "../../support/builders.js";
import { aRun } from "../../support/records.js";
import { aRunWorld } from "../../support/run-world.js";

const FACTS = { author: "alice", plugin: "echo", version: "1.0.0" };
const TOOLS = { capabilities: { tool_calling: true }, permissions: { tools: ["call"] } };

function aPackagedRunner(parts: RunnerParts = {}): PackagedRunner {
  return new PackagedRunner(new ScriptedPackages([]), describeRunner(aManifest(parts), "plugin", FACTS));
}

describe("PackagedRunner", () => {
  it("runs through its package, on the one execution path", async () => {
    const packages = new ScriptedPackages([{ id: "alice/echo", manifests: [aManifest()] }]);
    const pipeline = aPipeline({ runnerId: "plugin:alice/echo/default" });
    await using world = aRunWorld({ packages, pipelines: [pipeline] });
    const run = await world.execute(aRun());
    expect(run).toMatchObject({ state: "completed", message: { content: "Done." } });
    expect(packages.runs).toEqual(["alice/echo/default"]);
  });

  it("wants a box only where its manifest lets it call tools", () => {
    expect(aPackagedRunner().planBox({})).toBeNull();
    expect(aPackagedRunner({ permissions: { tools: ["call"] } }).planBox({})).toBeNull();
    expect(aPackagedRunner({ ...TOOLS, permissions: { tools: ["detail"] } }).planBox({})).toBeNull();
    expect(aPackagedRunner(TOOLS).planBox({})).toEqual({ template: "{launcher_type}_{launcher_id}" });
  });

  it("takes the template of its config, else the default that its schema declares", () => {
    const config = [
      { name: "box-session-id-template", type: "string", label: { en: "Box" }, default: "{bot_id}" },
    ];
    const runner = aPackagedRunner({ ...TOOLS, config });
    expect(runner.planBox({ "box-session-id-template": "{sender_id}" })).toEqual({ template: "{sender_id}" });
    expect(runner.planBox({})).toEqual({ template: "{bot_id}" });
    expect(runner.planBox({ "box-session-id-template": "" })).toEqual({ template: "" });
  });

  it("wants no box where the config switches it off", () => {
    expect(aPackagedRunner(TOOLS).planBox({ "box-enabled": false })).toBeNull();
  });

  it("checks its config by its own schema", () => {
    const config = [{ name: "tone", type: "integer", label: { en: "Tone" } }];
    const runner = aPackagedRunner({ config });
    expect(runner.findConfigFaults({ tone: 3 })).toEqual([]);
    expect(runner.findConfigFaults({ tone: "loud" })).toHaveLength(1);
  });
});
