/** What a caller sees of a runner that is missing, or that may not be used: at admission, and at the turn of the run. */
import { describe, expect, it } from "vitest";
import { aManifest, ScriptedPackages } from "../../fakes/scripted-packages.js";
import { aChat, aPipeline, aRequest, CALLER } from "../../support/builders.js";
import { proves } from "../../support/proves.js";
import { aRun } from "../../support/records.js";
import { aRunWorld, NEVER, type RunWorld } from "../../support/run-world.js";

const ECHO = "plugin:alice/echo/default";
const MISSING = "plugin:alice/gone/default";
const CALL = { signal: NEVER };

interface Case {
  readonly code: string;
  readonly pipeline: string;
  readonly message: string;
}

const CASES: readonly Case[] = [
  {
    code: "runner.not_found",
    pipeline: "gone",
    message: `The configured runner is missing: there is no runner "${MISSING}".`,
  },
  {
    code: "runner.not_authorized",
    pipeline: "echo",
    message: `The runner "${ECHO}" may not be used here: its package alice/echo is not allowed for this bot.`,
  },
];

function aWorld(): RunWorld {
  return aRunWorld({
    packages: new ScriptedPackages([{ id: "alice/echo", manifests: [aManifest()] }]),
    bots: { strict: ["bob/poet"] },
    pipelines: [aPipeline({ id: "gone", runnerId: MISSING }), aPipeline({ id: "echo", runnerId: ECHO })],
  });
}

describe("a runner that cannot answer", () => {
  const chat = aChat({ bot_id: "strict" });

  it("ends handling with the notice that fits, on each surface, and leaves nothing behind", async () => {
    proves("FLOW-16");
    for (const { code, pipeline, message } of CASES)
      for (const surface of ["rest", "sse"] as const) {
        await using world = aWorld();
        const admitted = world.serve.admit(aRequest({ pipeline, chat, surface }), CALLER, CALL);
        await expect(admitted).rejects.toMatchObject({ code, message });
        expect((await world.serve.list(CALLER, { limit: 10 })).runs).toEqual([]);
      }
    for (const { code, pipeline, message } of CASES) {
      await using world = aWorld();
      const run = await world.execute(aRun({ pipeline, chat }));
      expect(run).toMatchObject({ state: "failed", message: null });
      expect(run.error).toMatchObject({ code, retryable: false, message });
      expect(world.active.has(run.id)).toBe(false);
    }
  });

  it("answers another bot, which may use every package", async () => {
    await using world = aWorld();
    const run = await world.execute(aRun({ pipeline: "echo", chat: aChat({ bot_id: "free" }) }));
    expect(run).toMatchObject({ state: "completed", message: { content: "Done." } });
  });
});
