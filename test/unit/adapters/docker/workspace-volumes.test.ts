import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { EngineApi } from "../../../../src/adapters/docker/engine-api.js";
import { EngineCalls } from "../../../../src/adapters/docker/engine-calls.js";
import { QuotaProbe } from "../../../../src/adapters/docker/quota-probe.js";
import { WorkspaceVolumes } from "../../../../src/adapters/docker/workspace-volumes.js";
import { resolveBoxSettings } from "../../../../src/box/box-policy.js";
import { ServiceError } from "../../../../src/domain/errors.js";
import { CountingIds } from "../../../fakes/counting-ids.js";
import { FakeClock } from "../../../fakes/fake-clock.js";
import { FakeQuotaVolumes } from "../../../fakes/fake-quota-volumes.js";
import { KeptLogger } from "../../../fakes/kept-logger.js";
import { aVolumeEngine } from "./volume-engine.js";

const FOREVER = { signal: new AbortController().signal };
const OF = { sessionId: "ses_1", tenant: "main", uid: 30_001, volume: "vol" } as const;
const SETTINGS = resolveBoxSettings("default", { image: "box", memoryMb: 256, workspaceQuotaMb: 100 });
const MIB = 1024 * 1024;

describe("WorkspaceVolumes", () => {
  let under: Awaited<ReturnType<typeof aVolumeEngine>>;
  let disks: FakeQuotaVolumes;
  let isReached = false;
  beforeEach(async () => {
    isReached = false;
    under = await aVolumeEngine();
    disks = new FakeQuotaVolumes();
  });
  afterEach(async () => under.engine[Symbol.asyncDispose]());

  function volumesOf(mode: "auto" | "watchdog" = "auto"): WorkspaceVolumes {
    const calls = new EngineCalls(new EngineApi({ socketPath: under.engine.socketPath }));
    const shared = { calls, serviceId: "svc", volumes: disks };
    const work = { calls, clock: new FakeClock(), logger: new KeptLogger(), shortLived: new Set<string>() };
    const probe = new QuotaProbe({
      ...shared,
      work,
      ids: new CountingIds(),
      seccomp: "{}",
      mode,
      image: "box",
    });
    const reserve = {
      include: () => undefined,
      isReached: async () => Promise.resolve(isReached),
      warning: async () => Promise.resolve(null),
      require: async () => Promise.reject(new ServiceError("box.quota", "The disk is full.")),
    };
    return new WorkspaceVolumes({ ...shared, entries: 1000, probe, reserve });
  }

  it("makes a file system of its own for a workspace, and finds it again", async () => {
    const volumes = volumesOf();
    const check = { device: 1793, maxBytes: 100 * MIB };
    expect(await volumes.make(OF, SETTINGS, FOREVER)).toEqual(check);
    expect(under.state.volumes.get("vol")).toMatchObject({
      Options: { type: "none", device: "/volumes/vol/mount/workspace" },
    });
    isReached = true;
    expect(await volumes.make(OF, SETTINGS, FOREVER)).toEqual(check);
    await expect(volumes.make({ ...OF, volume: "new" }, SETTINGS, FOREVER)).rejects.toMatchObject({
      code: "box.quota",
    });
  });

  it("leaves a workspace from before, and one without a quota, plain directories of the engine's", async () => {
    expect(await volumesOf("watchdog").make(OF, SETTINGS, FOREVER)).toBeNull();
    expect(await volumesOf().make(OF, SETTINGS, FOREVER)).toBeNull();
    const free = { ...SETTINGS, workspaceQuotaMb: 0 };
    expect(await volumesOf().make({ ...OF, volume: "free" }, free, FOREVER)).toBeNull();
    await volumesOf().attach(OF, SETTINGS, FOREVER);
    expect([...disks.made.keys()]).toEqual([]);
  });

  it("tells that files are gone whose image is gone, and lets the name be made anew", async () => {
    const volumes = volumesOf();
    await volumes.make(OF, SETTINGS, FOREVER);
    disks.made.clear();
    await expect(volumes.attach(OF, SETTINGS, FOREVER)).rejects.toMatchObject({ code: "box.not_found" });
    expect(await volumes.make(OF, SETTINGS, FOREVER)).not.toBeNull();
  });

  it("measures from the host what the kernel bounds, and nothing that may be larger than the quota", async () => {
    const volumes = volumesOf();
    await volumes.make(OF, SETTINGS, FOREVER);
    expect(await (await volumes.meter(OF, 100, FOREVER))?.(FOREVER)).toMatchObject({ sizeBytes: MIB });
    expect(await volumes.meter(OF, 20, FOREVER)).toBeNull();
    expect(await volumes.meter(OF, 0, FOREVER)).toBeNull();
    expect(await volumes.meter({ ...OF, volume: "plain" }, 100, FOREVER)).toBeNull();
  });

  it.each(["exited", "created", "dead", null])("unmounts what no container uses: %s", async (state) => {
    const volumes = volumesOf();
    await volumes.make(OF, SETTINGS, FOREVER);
    if (state !== null) under.state.users.set("vol", state);
    await volumes.releaseUnused(FOREVER);
    expect([...disks.mountedNames]).toEqual([]);
  });

  it.each(["running", "paused", "restarting", "removing"])(
    "leaves a mount to a container: %s",
    async (state) => {
      const volumes = volumesOf();
      await volumes.make(OF, SETTINGS, FOREVER);
      under.state.users.set("vol", state);
      await volumes.releaseUnused(FOREVER);
      expect([...disks.mountedNames]).toEqual(["vol"]);
    },
  );

  it("waits with it until a start has ended, and looks only then", async () => {
    const volumes = volumesOf();
    await volumes.make(OF, SETTINGS, FOREVER);
    using hold = await volumes.hold("vol", FOREVER);
    const releasing = volumes.releaseUnused(FOREVER);
    under.state.users.set("vol", "running");
    hold[Symbol.dispose]();
    await releasing;
    expect([...disks.mountedNames]).toEqual(["vol"]);
  });

  it("goes on after one that cannot be unmounted, and says so at the end", async () => {
    const volumes = volumesOf();
    for (const volume of ["one", "two"]) await volumes.make({ ...OF, volume }, SETTINGS, FOREVER);
    disks.busy.add("one");
    await expect(volumes.releaseUnused(FOREVER)).rejects.toThrow("The volume one is busy.");
    expect([...disks.mountedNames]).toEqual(["one"]);
  });

  it("lists what is on the engine and on the host once, and removes both", async () => {
    const volumes = volumesOf();
    await volumes.make(OF, SETTINGS, FOREVER);
    await disks.ready("left", { quotaMib: 8, entries: 1000 }, FOREVER);
    expect(await volumes.list("berth.service=svc", FOREVER)).toEqual(["vol", "left"]);
    for (const name of ["vol", "left"]) await volumes.remove(name, FOREVER);
    expect(await volumes.list("berth.service=svc", FOREVER)).toEqual([]);
  });
});
