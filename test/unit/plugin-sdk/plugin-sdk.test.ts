import { describe, expect, it } from "vitest";
import { RESULT_DATA, type RunnerResult } from "../../../src/domain/result.js";
import type { RunContext } from "../../../src/domain/run-context.js";
import type { ToolOutcome } from "../../../src/domain/tool.js";
import {
  completed,
  definePlugin,
  delta,
  failed,
  HostError,
  type Result,
  reply,
  type RunContext as SdkContext,
  type PluginEvent as SdkEvent,
  type ToolOutcome as SdkOutcome,
  toolCompleted,
  toolStarted,
} from "../../../src/plugin-sdk/index.mjs";
import type { PluginEvent } from "../../../src/ports/plugin-packages.js";
import { aPluginContext, aPluginEvent } from "../../support/plugin-directory.js";

const CALL = { tool_call_id: "c1", tool_name: "exec", parameters: {} };

describe("the results that the SDK makes", () => {
  it.each<Result>([
    delta("So far"),
    reply("Done."),
    reply("Done.", ["file_1"]),
    toolStarted(CALL),
    toolCompleted(CALL, { ok: true, result: 1 }),
    toolCompleted(CALL, { ok: false, error: "No." }),
    completed(),
    completed("terminate"),
    failed("It failed."),
    failed("It failed.", { code: "acme.busy", retryable: true }),
  ])("fit the schema of their type: %o", (result) => {
    expect(RESULT_DATA[result.type].safeParse(result.data)).toMatchObject({ success: true });
  });
});

/** Compiles only as long as what the service sends fits the types of the SDK. */
function toSdk(context: RunContext, event: PluginEvent, outcome: ToolOutcome): readonly unknown[] {
  const seen: readonly [Omit<SdkContext, "state">, SdkEvent, SdkOutcome] = [context, event, outcome];
  return seen;
}

describe("the types of the SDK", () => {
  it("are those of the service: what it sends fits them, and they fit what it takes", () => {
    const types: Readonly<Record<Result["type"], true>> & Partial<Record<RunnerResult["type"], true>> = {
      "message.delta": true,
      "message.completed": true,
      "tool.call.started": true,
      "tool.call.completed": true,
      "state.updated": true,
      "run.completed": true,
      "run.failed": true,
      "action.requested": true,
    };
    expect(toSdk(aPluginContext(), aPluginEvent("Hello"), { ok: true, result: 1 })).toHaveLength(3);
    expect(Object.keys(RESULT_DATA)).toEqual(expect.arrayContaining(Object.keys(types)));
  });
});

describe("definePlugin", () => {
  it("gives a definition back as it is", () => {
    const definition = { runners: { default: async function* () {} }, onEvent: () => null };
    expect(definePlugin(definition)).toBe(definition);
    expect(definePlugin({})).toEqual({});
  });

  it.each(["runners", "tools"])("refuses %s that are no functions, by name", (part) => {
    const define: (definition: object) => unknown = definePlugin;
    expect(() => define({ [part]: { odd: 3 } })).toThrow(/"odd"/);
  });
});

describe("HostError", () => {
  it("carries code, retry and details", () => {
    const facts = { code: "not_found", message: "No.", retryable: false };
    expect(new HostError(facts)).toMatchObject({ ...facts, name: "HostError", details: {} });
    expect(new HostError({ ...facts, details: { code: "host.not_found" } }).details).toEqual({
      code: "host.not_found",
    });
  });
});
