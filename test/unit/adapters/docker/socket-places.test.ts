import { mkdir, readdir, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { SocketPlaces } from "../../../../src/adapters/docker/socket-places.js";
import { withTempDir } from "../../../support/temp-dir.js";

const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;

describe("SocketPlaces", () => {
  it("makes directories that only their own box reaches, below one that nobody else enters", async () => {
    await using temp = await withTempDir();
    const base = join(temp.path, "run");
    const places = await SocketPlaces.open(base);
    const place = await places.make("box");
    await places.make("box");
    expect(place).toEqual({
      name: places.nameOf("box"),
      directory: join(base, places.nameOf("box")),
      socketPath: join(base, places.nameOf("box"), "s"),
    });
    expect(place.name).toMatch(/^[0-9a-f]{24}$/);
    expect([await modeOf(base), await modeOf(place.directory)]).toEqual([0o700, 0o711]);
  });

  it("finds the place of a container again after a restart, and knows it from one of a directory that was moved", async () => {
    await using temp = await withTempDir();
    const one = await SocketPlaces.open(join(temp.path, "one"));
    const again = await SocketPlaces.open(join(temp.path, "one"));
    const other = await SocketPlaces.open(join(temp.path, "other"));
    expect(again.nameOf("box")).toBe(one.nameOf("box"));
    expect(new Set([one.nameOf("box"), one.nameOf("box2"), other.nameOf("box")]).size).toBe(3);
  });

  it("removes what belongs to no container that is left", async () => {
    await using temp = await withTempDir();
    const places = await SocketPlaces.open(temp.path);
    const kept = await places.make("kept");
    const gone = await places.make("gone");
    await writeFile(gone.socketPath, "");
    await places.keepOnly(["kept"]);
    expect(await readdir(temp.path)).toEqual([kept.name]);
    await places.remove("kept");
    await places.remove("kept");
    expect(await readdir(temp.path)).toEqual([]);
  });

  it("refuses a directory that is really another one", async () => {
    await using temp = await withTempDir();
    const places = await SocketPlaces.open(temp.path);
    await mkdir(join(temp.path, "elsewhere"));
    await symlink("elsewhere", join(temp.path, places.nameOf("box")));
    await expect(places.make("box")).rejects.toThrow("Something else stands where a box's socket belongs.");
  });

  it("refuses a path that no address of a socket can hold", async () => {
    await using temp = await withTempDir();
    const deep = join(temp.path, "d".repeat(90));
    await expect(SocketPlaces.open(deep)).rejects.toThrow("too long for a socket");
  });
});
