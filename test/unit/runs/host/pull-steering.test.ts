import { describe, expect, it } from "vitest";
import { pullSteering } from "../../../../src/runs/host/pull-steering.js";
import { RunGate } from "../../../../src/runs/host/run-gate.js";
import { KeptLogger } from "../../../fakes/kept-logger.js";

/** A gate of a run that goes on, and a recorder that tells what it was asked for. */
function asked(isSteerable: boolean) {
  const asks: unknown[] = [];
  const { signal } = new AbortController();
  const gate = new RunGate({ runId: "run_1", signal, logger: new KeptLogger() });
  const recorder = {
    pullSteering: async (limit: number, after: unknown) => {
      asks.push([limit, after]);
      return [];
    },
  };
  return { asks, gate, deps: { gate, recorder, isSteerable } };
}

describe("pullSteering", () => {
  it("takes one message, or at most 100, and says which reply they follow", async () => {
    const { asks, deps } = asked(true);
    const after = { role: "assistant" as const, content: "So far." };
    await pullSteering(deps, { mode: "one-at-a-time" });
    await pullSteering(deps, { mode: "all", after });
    expect(asks).toEqual([
      [1, null],
      [100, after],
    ]);
  });

  it("is refused to a runner that does not declare steering, and after the run", async () => {
    const refused = asked(false);
    await expect(pullSteering(refused.deps, { mode: "all" })).rejects.toThrow("not authorized");
    const ended = asked(true);
    ended.gate.close();
    await expect(pullSteering(ended.deps, { mode: "all" })).rejects.toMatchObject({ code: "host.not_found" });
    expect([...refused.asks, ...ended.asks]).toEqual([]);
  });
});
