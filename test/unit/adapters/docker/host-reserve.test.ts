import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { HostReserve } from "../../../../src/adapters/docker/host-reserve.js";

/** MiB that no disk has. */
const TOO_MUCH = 1_000_000_000_000;

describe("HostReserve", () => {
  let directory: string;
  let now = 0;
  beforeEach(async () => {
    now = 0;
    directory = await mkdtemp(join(tmpdir(), "berth-reserve-"));
  });
  afterEach(async () => rm(directory, { recursive: true, force: true }));

  const reserveOf = (reserveMib: number, places: readonly string[] = [directory]) =>
    new HostReserve({ places, reserveMib, elapsed: () => now });

  it("lets boxes grow while a disk has more than the reserve free", async () => {
    const reserve = reserveOf(1);
    expect(await reserve.isReached()).toBe(false);
    expect(await reserve.warning()).toBeNull();
    await expect(reserve.require()).resolves.toBeUndefined();
  });

  it("refuses growth below it, names the reserve and says what to do, and no directory", async () => {
    const reserve = reserveOf(TOO_MUCH);
    const says = `The disk that keeps the workspaces has less than its reserve of ${TOO_MUCH} MiB free: boxes cannot grow.`;
    expect(await reserve.warning()).toBe(says);
    await expect(reserve.require()).rejects.toMatchObject({
      code: "box.quota",
      message: says,
      hint: "Free space on the machine of the engine, or lower boxes.disk_reserve_mb.",
    });
  });

  it("asks no disk when there is no reserve", async () => {
    expect(await reserveOf(0).isReached()).toBe(false);
  });

  it("stops nobody for a disk that cannot be asked", async () => {
    expect(await reserveOf(TOO_MUCH, [join(directory, "none")]).isReached()).toBe(false);
    expect(await reserveOf(TOO_MUCH, [join(directory, "none"), directory]).isReached()).toBe(true);
  });

  it("counts the disk of an engine once it has said where that is", async () => {
    const reserve = reserveOf(TOO_MUCH, []);
    expect(await reserve.isReached()).toBe(false);
    for (const place of ["", "relative"]) reserve.include(place);
    now = 1000;
    expect(await reserve.isReached()).toBe(false);
    reserve.include(directory);
    now = 2000;
    expect(await reserve.isReached()).toBe(true);
  });

  it("looks once for many who ask in the same moment, and again after it", async () => {
    const reserve = reserveOf(TOO_MUCH);
    const first = await Promise.all([reserve.isReached(), reserve.isReached()]);
    await rm(directory, { recursive: true });
    now = 150;
    expect([...first, await reserve.isReached()]).toEqual([true, true, true]);
    now = 250;
    expect(await reserve.isReached()).toBe(false);
  });
});
