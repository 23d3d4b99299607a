/** Boxes whose helper dials a socket of the service: what they can see of it, and what a restart of either side changes. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BoxdHelper } from "../../src/adapters/boxd/boxd-helper.js";
import { DockerBoxBackend } from "../../src/adapters/docker/docker-box-backend.js";
import { RandomIdSource } from "../../src/adapters/system/random-id-source.js";
import { SystemClock } from "../../src/adapters/system/system-clock.js";
import type { BoxHandle } from "../../src/ports/box-handle.js";
import { run } from "../contracts/box-backend.js";
import { ENGINE_SOCKET, FOREVER, HELPER_IMAGE, hasEngine, TestEngine } from "../support/engine.js";

/** The same service once more, as after its restart. */
function restarted(engine: TestEngine, socketDirectory: string | null): DockerBoxBackend {
  const clock = new SystemClock();
  const { logger, serviceId } = engine;
  return new DockerBoxBackend({
    connection: { socketPath: ENGINE_SOCKET },
    serviceId,
    engine: "test",
    logger,
    clock,
    ids: new RandomIdSource(),
    helper: new BoxdHelper({ image: HELPER_IMAGE, clock, logger }),
    socketDirectory,
  });
}

async function shell(box: BoxHandle, text: string): Promise<string> {
  return (await run(box, ["sh", "-c", text])).stdout;
}

describe.skipIf(!hasEngine())("a box whose helper dials in", () => {
  let engine: TestEngine;

  beforeAll(() => {
    engine = new TestEngine();
  });
  afterAll(async () => engine[Symbol.asyncDispose]());

  const helpers = async (container: string) =>
    (await engine.processes(container)).filter((line) => line.includes("/opt/berth/boxd serve"));

  it("has nothing to connect to while it works, can change nothing there, and leaves nothing behind", async () => {
    const { place, box } = await engine.startBox();
    expect((await engine.backend.probe(FOREVER)).transport).toBe("socket");
    const said = await shell(
      box,
      "ls -A /run/berth | wc -l; touch /run/berth/x 2>&1 | grep -c Read-only; cat /proc/[0-9]*/environ 2>/dev/null | grep -c BOXD_TOKEN",
    );
    expect(said).toBe("0\n1\n0\n");
    expect(await readdir(engine.socketDirectory)).toHaveLength(1);
    await box[Symbol.asyncDispose]();
    await engine.backend.removeContainer(place.container, FOREVER);
    expect(await readdir(engine.socketDirectory)).toEqual([]);
  });

  it("dials a restarted service again, also one that cannot be reached so any more", async () => {
    const { place, box } = await engine.startBox();
    await box[Symbol.asyncDispose]();
    {
      await using again = restarted(engine, engine.socketDirectory);
      await using opened = await again.open(place, FOREVER);
      expect(await shell(opened, "echo again")).toBe("again\n");
      expect((await helpers(place.container)).at(-1)).toContain("--dial");
    }
    await using without = restarted(engine, join(engine.socketDirectory, "moved"));
    await using opened = await without.open(place, FOREVER);
    expect(await shell(opened, "echo still")).toBe("still\n");
    expect((await helpers(place.container)).some((line) => line.endsWith("boxd serve"))).toBe(true);
  });

  it("is made anew for it when it starts, if it was made without; its files stay", async () => {
    const place = engine.newPlace();
    {
      await using before = restarted(engine, null);
      await before.prepareWorkspace(place, engine.settings, FOREVER);
      await before.start(place, engine.settings, FOREVER);
      await using box = await before.open(place, FOREVER);
      await shell(box, "echo kept > /workspace/file");
    }
    {
      await using box = await engine.backend.open(place, FOREVER);
      expect(await shell(box, "ls /run/berth 2>&1 | grep -c 'No such'")).toBe("1\n");
    }
    await engine.backend.stop(place.container, FOREVER);
    await engine.backend.start(place, engine.settings, FOREVER);
    await using box = await engine.backend.open(place, FOREVER);
    expect(await shell(box, "cat /workspace/file")).toBe("kept\n");
    expect((await helpers(place.container)).at(-1)).toContain("--dial");
  });
});
