import { describe, expect, it } from "vitest";
import type { HostFrame } from "../../../../src/adapters/plugins/frames.js";
import { HostCalls } from "../../../../src/adapters/plugins/host-calls.js";
import { PluginRun } from "../../../../src/adapters/plugins/plugin-run.js";
import { hostActions } from "../../../../src/runs/host/host-actions.js";
import { FakeRunHost } from "../../../fakes/fake-run-host.js";
import { KeptLogger } from "../../../fakes/kept-logger.js";

function aSetting() {
  const sent: HostFrame[] = [];
  const logger = new KeptLogger();
  const host = new FakeRunHost({ prompt: [{ role: "system", content: "Be kind." }] });
  const run = new PluginRun(host);
  const calls = new HostCalls({
    packageId: "acme/echo",
    actions: hostActions,
    logger,
    runs: new Map([["run_1", run]]),
    send: async (frame) => sent.push(frame) > 0,
  });
  return { sent, logger, host, run, calls };
}

const CALL = { type: "call", id: 1, action: "get_prompt", payload: {} } as const;

describe("HostCalls", () => {
  it("takes the caller from the connection", async () => {
    const { sent, calls } = aSetting();
    calls.take({ ...CALL, run_id: "run_1" });
    calls.take({ ...CALL, id: 2, run_id: "run_1", caller: "acme/echo" });
    await expect.poll(() => sent.length).toBe(2);
    expect(sent).toMatchObject([
      { type: "value", id: 1 },
      { type: "value", id: 2 },
    ]);
  });

  it.each([
    ["claims another identity", { run_id: "run_1", caller: "acme/other" }, "unauthorized"],
    ["claims an identity that is no text", { run_id: "run_1", caller: null }, "unauthorized"],
    ["names no run", {}, "unauthorized"],
    ["names a run of somebody else", { run_id: "run_2" }, "not_found"],
    ["names no text as its run", { run_id: ["run_1"] }, "not_found"],
  ])("refuses a call that %s, logs it, and asks no host", async (_what, fields, code) => {
    const { sent, logger, host, calls } = aSetting();
    calls.take({ ...CALL, ...fields });
    expect(sent).toMatchObject([{ type: "failure", id: 1, error: { code } }]);
    expect(JSON.stringify(sent)).toContain("not authorized");
    expect(logger.lines).toMatchObject([{ level: "warn", fields: { package: "acme/echo" } }]);
    expect(host.actions).toEqual([]);
  });

  it("refuses calls of a run that has ended", async () => {
    const { sent, run, calls } = aSetting();
    run.end(null);
    calls.take({ ...CALL, run_id: "run_1" });
    expect(sent).toMatchObject([{ type: "failure", error: { code: "not_found" } }]);
    expect(JSON.stringify(sent)).toContain("Run session not found");
  });

  it("logs no more than so many refusals of one process", () => {
    const { logger, calls } = aSetting();
    for (let id = 1; id <= 100; id += 1) calls.take({ ...CALL, id });
    expect(logger.lines).toHaveLength(20);
  });

  it("takes an id of an open call for a fault", () => {
    const { calls } = aSetting();
    calls.take({ ...CALL, run_id: "run_1" });
    expect(() => calls.take({ ...CALL, run_id: "run_1" })).toThrow(/again/);
  });

  it("answers nothing that is not waited for", async () => {
    const { sent, run, calls } = aSetting();
    run[Symbol.dispose]();
    calls.take({ ...CALL, action: "no_such", run_id: "run_1" });
    await Promise.resolve();
    expect(sent).toEqual([]);
  });
});
