import { describe, expect, it } from "vitest";
import { planRun, type RunPlan } from "../../../src/runs/plan-run.js";
import { RunnerRegistry } from "../../../src/runs/runner-registry.js";
import { KeptLogger } from "../../fakes/kept-logger.js";
import { aManifest, ScriptedPackages } from "../../fakes/scripted-packages.js";
import { ScriptedRunner } from "../../fakes/scripted-runner.js";
import {
  aDescriptor,
  aModel,
  anOffer,
  aPipeline,
  aPolicy,
  aTool,
  modelsOf,
  pipelinesOf,
} from "../../support/builders.js";
import { proves } from "../../support/proves.js";

const runner = new ScriptedRunner();
const packages = new ScriptedPackages([{ id: "alice/echo", manifests: [aManifest()] }]);
const deps = {
  pipelines: pipelinesOf(
    aPipeline({ policy: aPolicy({ allowed_model_uuids: ["main", "gone"] }) }),
    aPipeline({ id: "bare", policy: aPolicy({ allowed_tool_names: [] }) }),
    aPipeline({ id: "broken", runnerId: "plugin:a/b/c" }),
    aPipeline({ id: "fresh", runnerId: null }),
    aPipeline({
      id: "odd",
      runnerId: "plugin:alice/echo/default",
      config: { "enable-all-tools": "true" },
      warnings: [{ code: "binding.runner_differs", message: "They differ." }],
    }),
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

const MAIN = { tenant: "main", botId: null, pipeline: null };
const CALL = { signal: new AbortController().signal };

/** A runner that selects and reads knowledge bases, of which there is `a`. */
function readerOf() {
  const descriptor = aDescriptor({
    config: [{ name: "knowledge-bases", type: "knowledge-base-multi-selector", label: { en: "Bases" } }],
    permissions: { knowledge_bases: ["list", "retrieve"] },
  });
  const bundled = [new ScriptedRunner({ descriptor })];
  return {
    runners: new RunnerRegistry({ bundled, packages: null, logger: new KeptLogger() }),
    offer: anOffer({ knowledgeBases: new Map([["a", { id: "a", name: "A" }]]) }),
  };
}

async function basesOf(config: Readonly<Record<string, unknown>>): Promise<readonly string[]> {
  const pipelines = pipelinesOf(aPipeline({ config }));
  const { resources } = await planRun({ ...deps, ...readerOf(), pipelines }, MAIN, CALL);
  return resources.knowledge_bases.map(({ kb_id }) => kb_id);
}

function plan(pipeline: string | null, botId: string | null = null): Promise<RunPlan> {
  return planRun(deps, { tenant: "main", botId, pipeline }, CALL);
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

  it("refuses a pipeline that selects no runner", async () => {
    await expect(plan("fresh")).rejects.toMatchObject({
      code: "runner.not_found",
      message: 'The configured runner is missing: the pipeline "fresh" selects none.',
    });
  });

  it("tells what is odd of the binding, and what its runner has against its config", async () => {
    const { warnings } = await plan("odd");
    expect(warnings).toEqual([
      { code: "binding.runner_differs", message: "They differ." },
      {
        code: "binding.config_fault",
        message: 'enable-all-tools must be true or false, but "true" was given.',
      },
    ]);
  });

  it("uses no knowledge base of the old single key", async () => {
    proves("CONF-07");
    expect(await basesOf({ "knowledge-base": "a" })).toEqual([]);
    expect(await basesOf({ "knowledge-bases": ["a"] })).toEqual(["a"]);
  });

  it("refuses a runner whose package is not among those of the bot", async () => {
    await expect(plan("echo", "strict")).rejects.toMatchObject({ code: "runner.not_authorized" });
  });

  it.each([null, "free", "nobody knows it"])("lets the bot %j use every package", async (bot) => {
    expect((await plan("echo", bot)).runner.descriptor.id).toBe("plugin:alice/echo/default");
  });
});
