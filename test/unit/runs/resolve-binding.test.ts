import { describe, expect, it } from "vitest";
import { resolveBinding } from "../../../src/runs/resolve-binding.js";
import { aPipeline, aPolicy, LOCAL_AGENT, pipelinesOf } from "../../support/builders.js";

describe("resolveBinding", () => {
  it("gives the runner, exactly its config, and what is to be said of both", () => {
    const config = { timeout: 12 };
    const warnings = [{ code: "binding.runner_differs", message: "They differ." }];
    const binding = resolveBinding(pipelinesOf(aPipeline({ config, warnings })), "default");
    expect(binding).toMatchObject({ runnerId: LOCAL_AGENT, configSource: "id", warnings });
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
});
