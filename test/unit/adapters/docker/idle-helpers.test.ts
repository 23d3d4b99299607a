import { describe, expect, it } from "vitest";
import { EngineApi } from "../../../../src/adapters/docker/engine-api.js";
import { EngineCalls } from "../../../../src/adapters/docker/engine-calls.js";
import { removeIdleHelpers } from "../../../../src/adapters/docker/idle-helpers.js";
import { SystemClock } from "../../../../src/adapters/system/system-clock.js";
import { KeptLogger } from "../../../fakes/kept-logger.js";
import { type Answer, EngineServer } from "./engine-server.js";

const FOREVER = { signal: new AbortController().signal };
const OLD = "2026-01-01T00:00:00Z";

const volume = (version: string, more: object = {}) => ({
  Name: `berth-boxd-${version}`,
  Labels: { "berth.helper": version },
  CreatedAt: OLD,
  ...more,
});

async function removedOf(volumes: Answer, removal: Answer = { status: 204 }) {
  await using engine = await EngineServer.listen(({ method }) => (method === "GET" ? volumes : removal));
  const calls = new EngineCalls(new EngineApi({ socketPath: engine.socketPath }));
  const logger = new KeptLogger();
  await removeIdleHelpers(
    { calls, clock: new SystemClock(), logger, shortLived: new Set() },
    "berth-boxd-now",
    FOREVER,
  );
  const removed = engine.calls.filter(({ method }) => method === "DELETE").map(({ path }) => path);
  return { removed, asked: engine.calls[0]?.query.get("filters"), warnings: logger.lines.length };
}

describe("removeIdleHelpers", () => {
  it("removes volumes of earlier helpers that nothing has mounted, and no others", async () => {
    const Volumes = [
      volume("old"),
      volume("older"),
      volume("now"),
      volume("fresh", { CreatedAt: new Date().toISOString() }),
      volume("timeless", { CreatedAt: "" }),
      volume("other", { Name: "somebodys" }),
    ];
    expect(await removedOf({ status: 200, body: { Volumes } })).toEqual({
      removed: ["/volumes/berth-boxd-old", "/volumes/berth-boxd-older"],
      asked: JSON.stringify({ label: ["berth.helper"], dangling: ["true"] }),
      warnings: 0,
    });
  });

  it("leaves one that was mounted meanwhile, and goes on", async () => {
    const Volumes = [volume("old"), volume("older")];
    const inUse = { status: 409, body: { message: "volume is in use" } };
    const { removed, warnings } = await removedOf({ status: 200, body: { Volumes } }, inUse);
    expect([removed.length, warnings]).toEqual([2, 0]);
  });

  it("only warns when the engine refuses", async () => {
    const broken = { status: 500, body: { message: "no" } };
    expect(await removedOf(broken)).toMatchObject({ removed: [], warnings: 1 });
    expect(await removedOf({ status: 200, body: { Volumes: null } })).toMatchObject({
      removed: [],
      warnings: 0,
    });
  });
});
