import { describe, expect, it } from "vitest";
import { findRunnerFaults } from "../../../src/compose.js";
import { loadConfig } from "../../../src/config/load-config.js";
import type { PipelineConfig } from "../../../src/config/pipeline-settings.js";
import { proves } from "../../support/proves.js";

const RUNNER = "plugin:berth/local-agent/default";

function aPipelineOf(): PipelineConfig {
  const loaded = loadConfig({ environment: {}, workingDirectory: "/nowhere" });
  const [pipeline] = loaded.ok ? loaded.config.pipelines : [];
  if (pipeline === undefined) throw new Error("There is no pipeline.");
  return pipeline;
}

function faultsOf(template: string): readonly string[] {
  const runner_config = { [RUNNER]: { "box-session-id-template": template } };
  return findRunnerFaults({ ...aPipelineOf(), runner_config });
}

describe("the check of a pipeline", () => {
  it.each(["{a}{b}", "{a}x{b}"])("refuses the session template %s, which has no separator", (template) => {
    proves("KEY-08");
    expect(faultsOf(template)).toEqual([
      expect.stringMatching(/session template is not valid: .*\{a\} (?:and|from) \{b\}/),
    ]);
  });

  it("takes a template that can be read back", () => {
    expect(faultsOf("{a}_{b}")).toEqual([]);
  });

  it("refuses a bare name that no runner has", () => {
    const runner = { id: "builtin:none" };
    expect(findRunnerFaults({ ...aPipelineOf(), runner })).toEqual([
      'runner.id "builtin:none" is no runner that ships.',
    ]);
  });

  it("leaves a runner of a package to its runs", () => {
    const runner = { id: "plugin:alice/echo/default" };
    expect(findRunnerFaults({ ...aPipelineOf(), runner })).toEqual([]);
  });

  it("says nothing of a pipeline without a runner", () => {
    expect(findRunnerFaults({ ...aPipelineOf(), runner: {} })).toEqual([]);
  });

  it("leaves switches that widen access to the check of the binding", () => {
    const runner_config = { [RUNNER]: { "enable-all-tools": "true", timeot: 3 } };
    expect(findRunnerFaults({ ...aPipelineOf(), runner_config })).toEqual([expect.stringMatching(/timeot/)]);
  });
});
