import { describe, expect, it } from "vitest";
import { resolveBinding } from "../../../src/runs/resolve-binding.js";
import { aPipeline, aPolicy, LOCAL_AGENT, pipelinesOf } from "../../support/builders.js";

describe("resolveBinding", () => {
  it("gives the runner and exactly its config", () => {
    const config = { timeout: 12 };
    const pipelines = pipelinesOf(
      aPipeline({ runnerConfigs: { "plugin:other/x/default": { timeout: 1 }, [LOCAL_AGENT]: config } }),
    );
    const binding = resolveBinding(pipelines, "default");
    expect(binding).toMatchObject({ runnerId: LOCAL_AGENT, configSource: "id" });
    expect(binding.config).toBe(config);
  });

  it("takes the default pipeline where the request names none", () => {
    const pipelines = pipelinesOf(aPipeline({ id: "first" }), aPipeline({ id: "second" }));
    expect(resolveBinding(pipelines, null).pipeline).toBe("first");
  });

  it("passes the pipeline's policy and deadline on", () => {
    const policy = aPolicy({ allowed_tool_names: ["exec"] });
    const binding = resolveBinding(pipelinesOf(aPipeline({ policy, deadlineSec: 60 })), null);
    expect(binding).toMatchObject({ policy, deadlineSec: 60 });
  });

  it("refuses a pipeline that is not there and names those that are", () => {
    const pipelines = pipelinesOf(aPipeline({ id: "first" }), aPipeline({ id: "second" }));
    expect(() => resolveBinding(pipelines, "third")).toThrow(
      expect.objectContaining({
        code: "pipeline.not_found",
        param: "pipeline",
        message: 'There is no pipeline "third".',
        hint: "Use one of: first, second.",
      }),
    );
  });

  it("finds the config under the id as written before any other name", () => {
    const pipeline = aPipeline({
      runnerId: "local-agent",
      runnerConfigs: { "local-agent": { a: 1 }, [LOCAL_AGENT]: { a: 2 }, "builtin:local-agent": { a: 3 } },
    });
    expect(resolveBinding(pipelinesOf(pipeline), null)).toMatchObject({
      config: { a: 1 },
      configSource: "id",
    });
  });

  it.each([
    [{ [LOCAL_AGENT]: { a: 2 }, "local-agent": { a: 3 } }],
    [{ "local-agent": { a: 2 } }],
    [{ "plugin:langbot-team/LocalAgent/default": { a: 2 } }],
  ])("finds it under the canonical id, then under the other aliases: %o", (runnerConfigs) => {
    const pipeline = aPipeline({ runnerId: "builtin:local-agent", runnerConfigs });
    expect(resolveBinding(pipelinesOf(pipeline), null)).toMatchObject({
      config: { a: 2 },
      configSource: "alias",
    });
  });

  it("gives an empty config to a runner without one", () => {
    const pipeline = aPipeline({ runnerConfigs: {} });
    expect(resolveBinding(pipelinesOf(pipeline), null)).toMatchObject({ config: {}, configSource: "none" });
  });
});
