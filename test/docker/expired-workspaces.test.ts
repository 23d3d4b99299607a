/** What becomes of workspaces that nobody has used for long: they go with everything they used on disk, and no others. */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openMemoryStores } from "../../src/adapters/memory/open-memory-stores.js";
import { RandomIdSource } from "../../src/adapters/system/random-id-source.js";
import { BoxService } from "../../src/box/box-service.js";
import { keyAsTemplate, renderReuseKey } from "../../src/box/reuse-key.js";
import { run } from "../contracts/box-backend.js";
import { FakeClock } from "../fakes/fake-clock.js";
import { ENGINE_SETTINGS, FOREVER, hasEngine, TestEngine } from "../support/engine.js";
import { proves } from "../support/proves.js";

const DAY_MS = 86_400_000;
const MIB = 1024 * 1024;
const BOXES = 10;
const SETTINGS = { ...ENGINE_SETTINGS, memoryMb: 64, workspaceQuotaMb: 32 };

describe.skipIf(!hasEngine())("workspaces that have expired", () => {
  it("go with all they used on disk; one that was used since stays", async () => {
    proves("BOX-21");
    await using engine = new TestEngine("helper", null, { mode: "auto", entries: 1000 });
    const clock = new FakeClock(Date.now());
    const { sessions } = openMemoryStores({ clock });
    const aService = () =>
      new BoxService(
        { backend: engine.backend, sessions, clock, ids: new RandomIdSource(), logger: engine.logger },
        {
          enabled: true,
          settings: SETTINGS,
          profile: "default",
          maxBoxes: BOXES + 1,
          pauseAfterSec: 0,
          idleTtlSec: 1,
          removeAfterSec: 1,
          warmPool: 0,
          workspaceTtlDays: 14,
        },
      );
    const before = aService();
    await before.start(FOREVER);
    const use = async (key: string): Promise<void> => {
      const reuseKey = renderReuseKey(keyAsTemplate(key), {}, "main");
      const session = await before.findOrCreateSession("main", reuseKey, FOREVER);
      await using lease = await before.lease(session, FOREVER);
      await run(lease.handle, ["sh", "-c", "head -c 3M /dev/zero > /workspace/big; sync -f /workspace"]);
    };
    await Promise.all(Array.from({ length: BOXES }, async (_none, i) => use(`old-${i}`)));
    clock.advance(15 * DAY_MS);
    await use("fresh");
    clock.advance(DAY_MS / 2);
    await expect.poll(() => before.awakeCount, { timeout: 60_000, interval: 250 }).toBe(0);
    await before[Symbol.asyncDispose]();
    expect(await diskBytes(engine)).toBeGreaterThan((BOXES + 1) * 3 * MIB);
    await using after = aService();
    await after.start(FOREVER);
    const left = await sessions.listAll();
    expect(left.filter(({ prepared }) => prepared)).toHaveLength(1);
    expect((await engine.backend.listOwned(FOREVER)).volumes).toEqual(
      left.filter(({ prepared }) => prepared).map(({ volume }) => volume),
    );
    expect(await diskBytes(engine)).toBeLessThan(3 * 3 * MIB);
  }, 180_000);
});

/** What the workspaces of the service take of the host's disk, whichever way they are kept. */
async function diskBytes(engine: TestEngine): Promise<number> {
  const names = await engine.volumes.list(FOREVER);
  const images = names.map(async (name) => stat(join(engine.directory, "workspaces", name, "image")));
  const onHost = (await Promise.all(images)).map(({ blocks }) => blocks * 512);
  const plain = (await engine.backend.listOwned(FOREVER)).volumes.filter((name) => !names.includes(name));
  const onEngine = await Promise.all(
    plain.map(async (name) => (await engine.docker.getVolume(name).inspect()).Mountpoint).map(sizeOf),
  );
  return [...onHost, ...onEngine].reduce((sum, bytes) => sum + bytes, 0);
}

async function sizeOf(place: Promise<string>): Promise<number> {
  const directory = await place;
  const files = (await readdir(directory)).map(async (name) => stat(join(directory, name)));
  return (await Promise.all(files)).reduce((sum, { blocks }) => sum + blocks * 512, 0);
}
