/** Workspaces that are file systems of their own: the kernel bounds what a box can write, and nothing of them is left over. */
import { execFileSync } from "node:child_process";
import { readdir, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { HostReserve } from "../../src/adapters/docker/host-reserve.js";
import type { QuotaMode } from "../../src/adapters/docker/quota-probe.js";
import type { BoxPlace } from "../../src/ports/box-backend.js";
import type { BoxHandle } from "../../src/ports/box-handle.js";
import { run } from "../contracts/box-backend.js";
import {
  ENGINE_SETTINGS,
  FOREVER,
  hasEngine,
  quotaInForce,
  type ServedBy,
  TestEngine,
} from "../support/engine.js";
import { proves } from "../support/proves.js";
import { textLike } from "../support/text-like.js";

const MIB = 1024 * 1024;
const SETTINGS = { ...ENGINE_SETTINGS, workspaceQuotaMb: 100 };
const ENTRIES = 3000;
/** Makes files until that fails; one process, so that it takes no time. */
const MANY_FILES = `import errno, sys
for number in range(1000000):
    try: open(f"/workspace/e{number}", "w").close()
    except OSError as error: sys.exit(f"{number} {errno.errorcode[error.errno]}")`;

async function* oneMib(): AsyncIterable<Uint8Array> {
  yield Buffer.alloc(MIB, 1);
}

const hasLoops = hasEngine() && (await quotaInForce()) === "loop";

describe.skipIf(!hasLoops)("a workspace with a file system of its own", () => {
  let engine: TestEngine;
  let place: BoxPlace;
  let box: BoxHandle;

  beforeAll(async () => {
    engine = new TestEngine("helper", null, { mode: "loop", entries: ENTRIES });
    ({ place, box } = await engine.startBox(SETTINGS));
  });
  afterAll(async () => {
    await box[Symbol.asyncDispose]();
    await engine[Symbol.asyncDispose]();
  });

  /** One rule that fails leaves nothing to the next. */
  afterEach(async () => {
    await shell("find /workspace -maxdepth 1 -type f ! -name kept -delete");
  });

  const shell = async (text: string, timeoutMs = 20_000) => run(box, ["sh", "-c", text], { timeoutMs });
  const image = () => join(engine.directory, "workspaces", place.volume, "image");
  const mount = () => join(engine.directory, "workspaces", place.volume, "mount");
  const diskBytes = async () => (await stat(image())).blocks * 512;
  const devices = () => execFileSync("losetup", ["-j", image()]).toString();
  const isMounted = async () => (await stat(mount())).dev !== (await stat(engine.directory)).dev;
  const reopen = async (settings = SETTINGS) => {
    await box[Symbol.asyncDispose]();
    await engine.backend.removeContainer(place.container, FOREVER);
    await engine.backend.start(place, settings, FOREVER);
    box = await engine.backend.open(place, FOREVER);
  };

  it("is what the status names, and gives no rights on the host", async () => {
    const facts = await engine.backend.probe(FOREVER);
    expect(facts.quota).toBe("loop");
    expect(facts.warnings.join(" ")).not.toMatch(/quota/);
    expect(await readdir(join(engine.directory, "workspaces"))).toEqual([place.volume]);
    const { stdout } = await shell("grep ' /workspace ' /proc/self/mountinfo; ls /workspace");
    expect(stdout).toMatch(/nosuid,nodev.* - ext4 \/dev\/loop\d+/);
    expect(stdout).not.toContain("lost+found");
  });

  it("takes the whole quota and not more, and says limit and use when it is full", async () => {
    const big = await shell("exec fallocate -l 50G /workspace/one");
    expect(big.exit.notes.join(" ")).toContain("The limit of 100 MiB for one file was reached.");
    const full = await shell("for i in 1 2 3; do head -c 40M /dev/zero > /workspace/f$i || exit 9; done");
    await shell("sync -f /workspace");
    expect(full.stderr).toContain("No space left on device");
    expect(full.exit).toMatchObject({ status: "completed", exitCode: 9 });
    expect(full.exit.notes).toEqual([
      expect.stringMatching(
        /^The workspace quota of 100 MiB was reached: 10[0-3] MiB are in use\. Writing fails until files are removed\.$/,
      ),
    ]);
    expect(await diskBytes()).toBeGreaterThan(95 * MIB);
    expect(await diskBytes()).toBeLessThan(130 * MIB);
    const [answer] = await box.files.write(
      [{ path: "/workspace/more", mode: "create", content: oneMib(), sizeBytes: MIB }],
      FOREVER,
    );
    expect(answer).toMatchObject({
      ok: false,
      fault: "no_space",
      space: textLike(
        /^The workspace quota is 100 MiB and 10\d MiB are in use, which leaves no space for 1 MiB\. Remove/,
      ),
    });
    expect((await shell("sleep 4; echo looked")).stdout).toBe("looked\n");
  });

  it("gives the space of deleted files back to the host", async () => {
    await expect.poll(diskBytes, { timeout: 15_000, interval: 500 }).toBeLessThan(10 * MIB);
  });

  it("stops a writer that goes on although nothing more can be written", async () => {
    proves("ISO-18");
    expect((await shell("fallocate -l 50G /workspace/one")).exit.exitCode).not.toBe(0);
    const parts = "for i in 1 2 3 4; do fallocate -l 40M /workspace/p$i || exit 9; done";
    expect((await shell(parts)).exit.exitCode).toBe(9);
    expect(await diskBytes()).toBeLessThan(130 * MIB);
    await shell("rm -f /workspace/one /workspace/p*");
    const dd =
      "i=0; while :; do i=$((i + 1)); dd if=/dev/zero of=/workspace/f$i bs=1M count=20; sleep 0.1; done";
    const { exit } = await shell(dd);
    expect(await diskBytes()).toBeLessThan(130 * MIB);
    expect(exit).toMatchObject({ status: "killed", exitCode: null });
    expect(exit.notes.join(" ")).toMatch(
      /The workspace quota of 100 MiB was reached: 10[0-3] MiB are in use\. The command was stopped/,
    );
    expect((await shell("rm /workspace/f*; echo well")).stdout).toBe("well\n");
  });

  it("bounds the number of entries, however small they are", async () => {
    const { exit, stderr } = await run(box, ["python3", "-c", MANY_FILES]);
    expect(Number(/^(\d+) ENOSPC/.exec(stderr)?.[1])).toBeGreaterThan(ENTRIES - 50);
    expect(Number(/^(\d+) ENOSPC/.exec(stderr)?.[1])).toBeLessThan(ENTRIES + 100);
    expect(exit.notes.join(" ")).toMatch(/The limit of 3000 files in the workspace was reached/);
    expect((await shell("find /workspace -name 'e*' -delete; echo well")).stdout).toBe("well\n");
  });

  it("holds no device of the host while no box has it, and comes back with its files", async () => {
    await shell("echo kept > /workspace/kept");
    await box[Symbol.asyncDispose]();
    await engine.backend.removeContainer(place.container, FOREVER);
    expect(await isMounted()).toBe(false);
    expect(devices()).toBe("");
    await reopen();
    expect((await shell("cat /workspace/kept")).stdout).toBe("kept\n");
  });

  it("is never a plain directory when it is not mounted: the box does not start", async () => {
    const docker = engine.docker;
    await box[Symbol.asyncDispose]();
    await engine.backend.removeContainer(place.container, FOREVER);
    const HostConfig = { Mounts: [{ Type: "volume" as const, Source: place.volume, Target: "/workspace" }] };
    const stray = await docker.createContainer({ Image: ENGINE_SETTINGS.image, Cmd: ["true"], HostConfig });
    const start = stray.start();
    await expect(start).rejects.toThrow(/no such file or directory/);
    await stray.remove({ force: true });
    await reopen();
  });

  it("comes back when the machine has lost its mounts under a stopped box", async () => {
    await box[Symbol.asyncDispose]();
    await engine.docker.getContainer(place.container).stop({ t: 0 });
    execFileSync("umount", [mount()]);
    await engine.backend.start(place, SETTINGS, FOREVER);
    box = await engine.backend.open(place, FOREVER);
    expect((await shell("cat /workspace/kept")).stdout).toBe("kept\n");
  });

  it("is given back by the next service when one was killed before it could, and only then", async () => {
    await box[Symbol.asyncDispose]();
    await engine.backend.releaseUnused(FOREVER);
    expect(await isMounted()).toBe(true);
    await engine.docker.getContainer(place.container).remove({ force: true, v: true });
    expect(await isMounted()).toBe(true);
    await using next = engine.anotherBackend({ mode: "loop", entries: ENTRIES });
    await next.releaseUnused(FOREVER);
    expect(await isMounted()).toBe(false);
    // The kernel takes the namespace of a killed container down a moment later.
    await expect.poll(devices, { timeout: 5000, interval: 50 }).toBe("");
    const starting = engine.backend.start(place, SETTINGS, FOREVER);
    await Promise.all([
      starting,
      ...Array.from({ length: 5 }, async () => engine.backend.releaseUnused(FOREVER)),
    ]);
    box = await engine.backend.open(place, FOREVER);
    expect((await shell("cat /workspace/kept; grep -c ' /workspace ' /proc/self/mountinfo")).stdout).toBe(
      "kept\n1\n",
    );
    expect(await isMounted()).toBe(true);
  });

  it("grows with the quota, and is watched where the quota has become smaller", async () => {
    await reopen({ ...SETTINGS, workspaceQuotaMb: 200 });
    const { exit } = await shell("head -c 150M /dev/zero > /workspace/large");
    expect(exit).toMatchObject({ exitCode: 0, notes: [] });
    await shell("rm /workspace/large");
    await reopen({ ...SETTINGS, workspaceQuotaMb: 20 });
    const small = await shell("i=0; while :; do i=$((i + 1)); head -c 10M /dev/zero > /workspace/s$i; done");
    expect(small.exit.notes.join(" ")).toContain("The workspace quota of 20 MiB was reached");
    await shell("rm /workspace/s*; cat /workspace/kept");
    await reopen();
  });

  it("that has gone is told, and made anew", async () => {
    await box[Symbol.asyncDispose]();
    await engine.backend.removeContainer(place.container, FOREVER);
    await engine.volumes.remove(place.volume, FOREVER);
    await expect(engine.backend.start(place, SETTINGS, FOREVER)).rejects.toMatchObject({
      code: "box.not_found",
    });
    await engine.backend.prepareWorkspace(place, SETTINGS, FOREVER);
    await engine.backend.start(place, SETTINGS, FOREVER);
    box = await engine.backend.open(place, FOREVER);
    expect((await shell("ls /workspace")).stdout).toBe("inbox\noutbox\n");
  });

  it("leaves nothing on the host when it is removed, half-made ones included", async () => {
    await engine.volumes.ready("left-behind", { quotaMib: 8, entries: 1000 }, FOREVER);
    expect((await engine.backend.listOwned(FOREVER)).volumes.toSorted()).toEqual(
      ["left-behind", place.volume].toSorted(),
    );
    await box[Symbol.asyncDispose]();
    await engine.backend.removeContainer(place.container, FOREVER);
    for (const volume of ["left-behind", place.volume]) await engine.backend.removeWorkspace(volume, FOREVER);
    expect(await readdir(join(engine.directory, "workspaces"))).toEqual([]);
    expect(execFileSync("losetup", ["-a"]).toString()).not.toContain(engine.serviceId);
    expect((await engine.backend.listOwned(FOREVER)).volumes).toEqual([]);
    await engine.backend.prepareWorkspace(place, SETTINGS, FOREVER);
    await engine.backend.start(place, SETTINGS, FOREVER);
    box = await engine.backend.open(place, FOREVER);
  });
});

describe.skipIf(!hasLoops)("a workspace from before", () => {
  it("stays what it is: its files are kept, and commands are watched", async () => {
    await using engine = new TestEngine("helper", null, { mode: "auto", entries: ENTRIES });
    const plain = engine.anotherBackend({ mode: "watchdog", entries: ENTRIES });
    const place = engine.newPlace();
    const settings = { ...SETTINGS, workspaceQuotaMb: 20 };
    await plain.prepareWorkspace(place, settings, FOREVER);
    await engine.backend.prepareWorkspace(place, settings, FOREVER);
    await engine.backend.start(place, settings, FOREVER);
    await using box = await engine.backend.open(place, FOREVER);
    const { exit } = await run(
      box,
      ["sh", "-c", "i=0; while :; do i=$((i + 1)); head -c 10M /dev/zero > /workspace/s$i; done"],
      { timeoutMs: 20_000 },
    );
    expect(exit.notes.join(" ")).toContain("The workspace quota of 20 MiB was reached");
    expect(await engine.volumes.list(FOREVER)).toEqual([]);
    await plain[Symbol.asyncDispose]();
  });
});

describe.skipIf(!hasEngine())("the reserve of the host's disk", () => {
  const modes: readonly (readonly [QuotaMode, ServedBy])[] = [
    ["watchdog", "helper"],
    ["watchdog", "engine"],
  ];
  const better: typeof modes = [
    ["loop", "helper"],
    ["loop", "engine"],
  ];
  it.each([...modes, ...(hasLoops ? better : [])])(
    "is never used up by boxes: nothing is made, imported or written (%s, served by the %s)",
    async (mode, servedBy) => {
      let reserveMib = 0;
      const places = ["/"];
      const elapsed = performance.now.bind(performance);
      const small = new HostReserve({ places, reserveMib: 1, elapsed });
      const whole = new HostReserve({ places, reserveMib: 1_000_000_000, elapsed });
      const current = () => (reserveMib === 0 ? small : whole);
      const reserve = {
        include: () => undefined,
        isReached: async () => current().isReached(),
        require: async () => current().require(),
        warning: async () => current().warning(),
      };
      await using engine = new TestEngine(servedBy, null, { mode, entries: ENTRIES, reserve });
      const { box } = await engine.startBox(SETTINGS);
      expect((await engine.backend.probe(FOREVER)).warnings.join(" ")).not.toContain("its reserve");
      reserveMib = 1_000_000_000;
      const { warnings } = await engine.backend.probe(FOREVER);
      expect(warnings.join(" ")).toContain("less than its reserve of 1000000000 MiB free");
      await expect(
        engine.backend.prepareWorkspace(engine.newPlace(), SETTINGS, FOREVER),
      ).rejects.toMatchObject({
        code: "box.quota",
      });
      const [answer] = await box.files.write(
        [{ path: "/workspace/more", mode: "create", content: oneMib(), sizeBytes: MIB }],
        FOREVER,
      );
      expect(answer).toMatchObject({
        ok: false,
        fault: "no_space",
        space: textLike(/^The disk of the machine is down to its reserve, so no box may grow[.,]/),
      });
      const looker = await run(box, ["sh", "-c", "sleep 1; ls / | head -1"]);
      expect(looker.exit).toMatchObject({ exitCode: 0, notes: [] });
      const text =
        "sleep 0.7; i=0; while :; do i=$((i + 1)); head -c 3M /dev/zero > /workspace/s$i; sleep 0.3; done";
      const writer = await run(box, ["sh", "-c", text], { timeoutMs: 20_000 });
      expect(writer.exit.notes.join(" ")).toMatch(
        /The disk of the machine is nearly full, so no box may grow: \d+ MiB/,
      );
      await box[Symbol.asyncDispose]();
    },
  );
});

describe.skipIf(!hasEngine())("the choice of a quota", () => {
  it("falls back to a watch where the machine can do nothing better, and says why", async () => {
    await using engine = new TestEngine("helper", null, { mode: "auto", entries: ENTRIES });
    await using remote = engine.anotherBackend({ mode: "auto", entries: ENTRIES, volumes: null });
    const facts = await remote.probe(FOREVER);
    expect(facts.quota).toBe("watchdog");
    expect(facts.warnings.join(" ")).toContain("(loop): The engine is on another machine.");
  });

  it("is an error where the quota that is asked for cannot be kept", async () => {
    await using engine = new TestEngine("helper", null, { mode: "auto", entries: ENTRIES });
    await using remote = engine.anotherBackend({ mode: "loop", entries: ENTRIES, volumes: null });
    await expect(remote.probe(FOREVER)).rejects.toMatchObject({
      code: "box.readiness",
      message: textLike(/The disk quota loop of boxes.quota cannot be kept/),
    });
  });

  it("leaves the host's disk as it was", async () => {
    await using engine = new TestEngine("helper", null, { mode: "auto", entries: ENTRIES });
    await engine.backend.probe(FOREVER);
    expect((await engine.backend.listOwned(FOREVER)).volumes).toEqual([]);
    expect((await statfs("/")).bavail).toBeGreaterThan(0);
  });
});
