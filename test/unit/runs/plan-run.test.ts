import { describe, expect, it } from "vitest";
import { planRun } from "../../../src/runs/plan-run.js";
import { RunnerRegistry } from "../../../src/runs/runner-registry.js";
import { ScriptedRunner } from "../../fakes/scripted-runner.js";
import { aModel, anOffer, aPipeline, aPolicy, aTool, modelsOf, pipelinesOf } from "../../support/builders.js";

const runner = new ScriptedRunner();
const deps = {
  pipelines: pipelinesOf(
    aPipeline({ policy: aPolicy({ allowed_model_uuids: ["main", "gone"] }) }),
    aPipeline({ id: "bare", policy: aPolicy({ allowed_tool_names: [] }) }),
    aPipeline({ id: "broken", runnerId: "plugin:a/b/c" }),
  ),
  runners: new RunnerRegistry([runner]),
  offer: anOffer({ models: modelsOf(aModel()), tools: [aTool()] }),
};

describe("planRun", () => {
  it("finds binding, runner, resources and warnings together", () => {
    const plan = planRun(deps, null);
    expect(plan.binding.pipeline).toBe("default");
    expect(plan.runner).toBe(runner);
    expect(plan.resources.models.map(({ model_id }) => model_id)).toEqual(["main"]);
    expect(plan.warnings).toHaveLength(1);
  });

  it("plans the same at admission and at the start of the run", () => {
    expect(planRun(deps, "default")).toEqual(planRun(deps, null));
  });

  it("goes by the policy of the pipeline that was asked for", () => {
    expect(planRun(deps, "bare").resources.tools).toEqual([]);
  });

  it("refuses a pipeline that is not there", () => {
    expect(() => planRun(deps, "none")).toThrow(expect.objectContaining({ code: "pipeline.not_found" }));
  });

  it("refuses a pipeline whose runner is not there", () => {
    expect(() => planRun(deps, "broken")).toThrow(
      expect.objectContaining({
        code: "runner.not_found",
        message: 'There is no runner "plugin:a/b/c".',
      }),
    );
  });
});
