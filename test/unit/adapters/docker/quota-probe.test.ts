import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { EngineApi } from "../../../../src/adapters/docker/engine-api.js";
import { EngineCalls } from "../../../../src/adapters/docker/engine-calls.js";
import { WRONG_VOLUME } from "../../../../src/adapters/docker/preparation-body.js";
import { type QuotaMode, QuotaProbe } from "../../../../src/adapters/docker/quota-probe.js";
import { CountingIds } from "../../../fakes/counting-ids.js";
import { FakeClock } from "../../../fakes/fake-clock.js";
import { FakeQuotaVolumes } from "../../../fakes/fake-quota-volumes.js";
import { KeptLogger } from "../../../fakes/kept-logger.js";
import { textLike } from "../../../support/text-like.js";
import { aVolumeEngine } from "./volume-engine.js";

const FOREVER = { signal: new AbortController().signal };

describe("QuotaProbe", () => {
  let under: Awaited<ReturnType<typeof aVolumeEngine>>;
  let volumes: FakeQuotaVolumes;
  let clock: FakeClock;
  beforeEach(async () => {
    under = await aVolumeEngine();
    volumes = new FakeQuotaVolumes();
    clock = new FakeClock();
  });
  afterEach(async () => under.engine[Symbol.asyncDispose]());

  function probeOf(mode: QuotaMode, of: FakeQuotaVolumes | null = volumes): QuotaProbe {
    const calls = new EngineCalls(new EngineApi({ socketPath: under.engine.socketPath }));
    const work = { calls, clock, logger: new KeptLogger(), shortLived: new Set<string>() };
    return new QuotaProbe({
      work,
      serviceId: "svc",
      ids: new CountingIds(),
      seccomp: "{}",
      mode,
      image: "box",
      volumes: of,
    });
  }

  it("finds file systems of their own where a container sees one, asks once and leaves nothing", async () => {
    const probe = probeOf("auto");
    const [first, second] = await Promise.all([probe.outcome(FOREVER), probe.outcome(FOREVER)]);
    expect([first, second]).toEqual([
      { kind: "loop", warnings: [] },
      { kind: "loop", warnings: [] },
    ]);
    expect([...volumes.made.keys(), ...under.state.volumes.keys()]).toEqual([]);
    const asked = under.engine.calls.length;
    clock.advance(10_000_000);
    await probe.outcome(FOREVER);
    expect(under.engine.calls).toHaveLength(asked);
  });

  it.each([
    ["a container sees another volume", WRONG_VOLUME, "A container did not see the volume"],
    ["it cannot be prepared", 3, "The volume could not be prepared (exit code 3)."],
  ])("falls back to a watch where %s, says why and leaves nothing", async (_what, exitCode, says) => {
    under.state.exitCode = exitCode;
    const { kind, warnings } = await probeOf("auto").outcome(FOREVER);
    expect(kind).toBe("watchdog");
    expect(warnings[0]).toContain(says);
    expect(warnings).toHaveLength(2);
    expect([...volumes.made.keys(), ...under.state.volumes.keys()]).toEqual([]);
  });

  it("tries again after five minutes what failed", async () => {
    volumes.fault = "The program mkfs.ext4 is not on this machine.";
    const probe = probeOf("auto");
    expect((await probe.outcome(FOREVER)).warnings[0]).toContain("mkfs.ext4");
    volumes.fault = null;
    clock.advance(299_000);
    expect((await probe.outcome(FOREVER)).kind).toBe("watchdog");
    clock.advance(2000);
    expect((await probe.soon(FOREVER)).kind).toBe("loop");
  });

  it("is an error where the settings ask for what cannot be kept", async () => {
    await expect(probeOf("loop", null).outcome(FOREVER)).rejects.toMatchObject({
      code: "box.readiness",
      message: textLike(/^The disk quota loop of boxes\.quota cannot be kept: .*on another machine\./),
    });
  });

  it("tries nothing where the settings ask for a watch", async () => {
    expect((await probeOf("watchdog").outcome(FOREVER)).kind).toBe("watchdog");
    expect(under.engine.calls).toEqual([]);
  });
});
