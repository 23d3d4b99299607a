import { describe, expect, it } from "vitest";
import { planRun, type RunPlan } from "../../../src/runs/plan-run.js";
import { RunnerRegistry } from "../../../src/runs/runner-registry.js";
import { KeptLogger } from "../../fakes/kept-logger.js";
import { aManifest, ScriptedPackages } from "../../fakes/scripted-packages.js";
import { ScriptedRunner } from "../../fakes/scripted-runner.js";
import { aModel, anOffer, aPipeline, aPolicy, aTool, modelsOf, pipelinesOf } from "../../support/builders.js";

const runner = new ScriptedRunner();
const packages = new ScriptedPackages([{ id: "alice/echo", manifests: [aManifest()] }]);
const deps = {
  pipelines: pipelinesOf(
    aPipeline({ policy: aPolicy({ allowed_model_uuids: ["main", "gone"] }) }),
    aPipeline({ id: "bare", policy: aPolicy({ allowed_tool_names: [] }) }),
    aPipeline({ id: "broken", runnerId: "plugin:a/b/c" }),
    aPipeline({ id: "echo", runnerId: "plugin:alice/echo/default" }),
  ),
  runners: new RunnerRegistry({ bundled: [runner], packages, logger: new KeptLogger() }),
  bots: new Map([
    ["strict", ["bob/poet"]],
    ["free", null],
  ]),
  catalog: { hostNames: new Set(["exec"]), list: async () => ({ tools: [aTool()], warnings: [] }) },
  offer: anOffer({ models: modelsOf(aModel()) }),
};

function plan(pipeline: string | null, botId: string | null = null): Promise<RunPlan> {
  return planRun(deps, { tenant: "main", botId, pipeline }, { signal: new AbortController().signal });
}

describe("planRun", () => {
  it("finds binding, runner, resources and warnings together", async () => {
    const planned = await plan(null);
    expect(planned.binding.pipeline).toBe("default");
    expect(planned.runner).toBe(runner);
    expect(planned.resources.models.map(({ model_id }) => model_id)).toEqual(["main"]);
    expect(planned.warnings).toHaveLength(1);
  });

  it("plans the same at admission and at the start of the run", async () => {
    expect(await plan("default")).toEqual(await plan(null));
  });

  it("goes by the policy of the pipeline that was asked for", async () => {
    expect((await plan("bare")).resources.tools).toEqual([]);
  });

  it("refuses a pipeline that is not there", async () => {
    await expect(plan("none")).rejects.toMatchObject({ code: "pipeline.not_found" });
  });

  it("refuses a pipeline whose runner is not there", async () => {
    await expect(plan("broken")).rejects.toMatchObject({
      code: "runner.not_found",
      message: 'The configured runner is missing: there is no runner "plugin:a/b/c".',
    });
  });

  it("refuses a runner whose package is not among those of the bot", async () => {
    await expect(plan("echo", "strict")).rejects.toMatchObject({ code: "runner.not_authorized" });
  });

  it.each([null, "free", "nobody knows it"])("lets the bot %j use every package", async (bot) => {
    expect((await plan("echo", bot)).runner.descriptor.id).toBe("plugin:alice/echo/default");
  });
});
