/** What every PluginPackages promises (ports/plugin-packages.ts, runs §3, §8). */
import { describe, expect, it } from "vitest";
import { ServiceError } from "../../src/domain/errors.js";
import type { RunnerResult } from "../../src/domain/result.js";
import type { PluginPackages } from "../../src/ports/plugin-packages.js";
import { FakeRunHost } from "../fakes/fake-run-host.js";
import type { Opened } from "../support/opened.js";
import { aPluginContext, aPluginEvent } from "../support/plugin-directory.js";

const CALL = { signal: new AbortController().signal };
const RUNNER = { packageId: "acme/echo", runnerName: "default" };

/**
 * @param open packages of which `acme/echo` has a runner `default` that yields one message, `Answer`, and completes; it
 * listens to `message.received` and answers `{"heard": <the text>}`, but fails for the text `fail`
 */
export function describePluginPackages(name: string, open: () => Promise<Opened<PluginPackages>>): void {
  describe(`plugin packages: ${name}`, () => {
    it("lists a package with what it declares, the same as long as nothing changes", async () => {
      await using packages = await open();
      const listed = await packages.it.list(CALL);
      const { generation } = packages.it;
      expect(listed).toMatchObject([{ id: "acme/echo", version: "1.0.0", listensTo: ["message.received"] }]);
      expect(listed[0]?.runnerManifests).toMatchObject([
        { kind: "AgentRunner", metadata: { name: "default" } },
      ]);
      expect(await packages.it.list(CALL)).toEqual(listed);
      expect(packages.it.generation).toBe(generation);
    });

    it("runs a runner, and mixes none that go on at once", async () => {
      await using packages = await open();
      const runIds = ["run_a", "run_b", "run_c"] as const;
      const runs = await Promise.all(runIds.map((runId) => collect(packages.it, runId)));
      for (const [index, results] of runs.entries()) {
        expect(results).toMatchObject([
          { type: "message.completed", data: { message: { role: "assistant", content: "Answer" } } },
          { type: "run.completed" },
        ]);
        expect(new Set(results.map(({ run_id }) => run_id))).toEqual(new Set([runIds[index]]));
      }
    });

    it("gives a listener's answer as it is, and tells its failure", async () => {
      await using packages = await open();
      const answer = await packages.it.offerEvent("acme/echo", aPluginEvent("Hello"), CALL);
      expect(answer).toEqual({ heard: "Hello" });
      await expect(packages.it.offerEvent("acme/echo", aPluginEvent("fail"), CALL)).rejects.toThrow(/./);
    });

    it("asks nobody anything once the caller has given up", async () => {
      await using packages = await open();
      const reason = new ServiceError("cancelled", "Stopped by the test.");
      const signal = AbortSignal.abort(reason);
      await expect(packages.it.list({ signal })).rejects.toBe(reason);
    });
  });
}

async function collect(packages: PluginPackages, runId: `run_${string}`): Promise<readonly RunnerResult[]> {
  const given = { context: aPluginContext({ runId }), host: new FakeRunHost() };
  const results: RunnerResult[] = [];
  for await (const result of packages.run(RUNNER, given, CALL)) results.push(result);
  return results;
}
