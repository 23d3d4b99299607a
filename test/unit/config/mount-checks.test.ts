import { mkdir, mkdtemp, realpath, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { settingsSchema } from "../../../src/config/config-schema.js";
import { loadConfig } from "../../../src/config/load-config.js";
import { findMountSettingFaults } from "../../../src/config/mount-checks.js";

let place = "";
beforeEach(async () => {
  place = await realpath(await mkdtemp(join(tmpdir(), "berth mounts ")));
  await mkdir(join(place, "data"));
  await symlink("/etc", join(place, "way-out"));
});
afterEach(async () => rm(place, { recursive: true, force: true }));

function faults(boxes: object): readonly string[] {
  const settings = settingsSchema.parse({ boxes });
  return findMountSettingFaults(settings, "/no/data").map(({ path, found }) => `${path}: ${found}`);
}

const mount = (source: string, target = "/data") => ({ source: join(place, source), target });

describe("extra mounts of a configuration", () => {
  it("are none by default, and are taken where a root allows them, names with spaces too", () => {
    expect(faults({})).toEqual([]);
    expect(faults({ extra_mounts: [mount("data")], allowed_mount_roots: [place] })).toEqual([]);
  });

  it("are refused without a root, through a link, and where nothing is, each naming its setting", () => {
    expect(faults({ extra_mounts: [mount("data")] })).toEqual([
      "boxes.extra_mounts[0].source: a place outside the allowed roots",
    ]);
    const extra_mounts = [mount("way-out"), mount("missing", "/tmp/x")];
    expect(faults({ extra_mounts, allowed_mount_roots: [place] })).toEqual([
      "boxes.extra_mounts[0].source: a place outside the allowed roots, links followed",
      "boxes.extra_mounts[1].target: a place that meets /tmp of the box",
      "boxes.extra_mounts[1].source: nothing that is there",
    ]);
  });

  it("may not hold the engine's socket", async () => {
    await mkdir(join(place, "run"));
    const engines = [{ name: "local", host: `unix://${join(place, "run/docker.sock")}` }];
    expect(faults({ extra_mounts: [mount("run")], allowed_mount_roots: [place], engines })).toEqual([
      "boxes.extra_mounts[0].source: a place that holds the engine's socket or the service's own data",
    ]);
  });

  it("need an engine on this host, for nobody can look up sources on another one", () => {
    const engines = [{ name: "far", host: "tcp://10.0.0.1:2375" }];
    expect(faults({ extra_mounts: [mount("data")], allowed_mount_roots: [place], engines })).toEqual([
      "boxes.extra_mounts: extra mounts with an engine that is reached over the network",
    ]);
  });

  it("have roots that are directories, and never the root of the host", async () => {
    await symlink("/", join(place, "everything"));
    const allowed_mount_roots = [
      "/",
      join(place, "everything"),
      join(place, "missing"),
      "/etc/passwd",
      "/a/../b",
    ];
    expect(faults({ allowed_mount_roots })).toEqual([
      "boxes.allowed_mount_roots[0]: the root of the host",
      "boxes.allowed_mount_roots[1]: the root of the host",
      "boxes.allowed_mount_roots[2]: nothing that is there",
      "boxes.allowed_mount_roots[3]: no directory",
      "boxes.allowed_mount_roots[4]: a path that is not plain",
    ]);
  });

  it("stop the start of the service with every fault, also of keys nobody knows", () => {
    const loaded = loadConfig({
      environment: { BERTH_DATA_DIR: "/root/berth data" },
      workingDirectory: place,
      file: undefined,
    });
    expect(loaded.ok).toBe(true);
    expect(
      settingsSchema.safeParse({ boxes: { extra_mounts: [{ ...mount("data"), readonly: true }] } }).success,
    ).toBe(false);
    expect(settingsSchema.safeParse({ boxes: { env: { BERTH_INBOX: "/x" } } }).success).toBe(false);
    expect(settingsSchema.safeParse({ boxes: { runtime: "../runc" } }).success).toBe(false);
  });
});
