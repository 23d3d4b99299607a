import { describe, expect, it } from "vitest";
import type { ExtraMount } from "../../../src/domain/box.js";
import { type FoundSource, findMountFaults, isPlainPath } from "../../../src/domain/extra-mount.js";

const GROUND = { roots: ["/srv/data", "/"], ownPlaces: ["/srv/data/berth", "/run/docker.sock"] };
const aMount = (change: Partial<ExtraMount> = {}): ExtraMount => ({
  source: "/srv/data/a",
  target: "/data",
  readOnly: true,
  ...change,
});
const at = (realPath: string, kind: FoundSource["kind"] = "directory"): FoundSource => ({ realPath, kind });

const targetFaults = (...targets: readonly string[]): readonly string[] =>
  findMountFaults(
    targets.map((target) => aMount({ target })),
    targets.map(() => at("/srv/data/a")),
    GROUND,
  ).map(({ index, part, found }) => `${index} ${part}: ${found}`);

const sourceFault = (found: FoundSource | null, roots = GROUND.roots): string | undefined =>
  findMountFaults([aMount()], [found], { ...GROUND, roots })[0]?.found;

describe("findMountFaults", () => {
  it("allows what lies inside an allowed root, whatever its name and kind of place", () => {
    expect(sourceFault(at("/srv/data"), ["/srv/data"])).toBe(
      "a place that holds the engine's socket or the service's own data",
    );
    expect(sourceFault(at("/srv/data/with spaces, and: more"))).toBeUndefined();
    expect(sourceFault(at("/srv/data/list.csv", "file"))).toBeUndefined();
    expect(sourceFault(at("/root/models/x"), ["/root/models"])).toBeUndefined();
  });

  it.each<[FoundSource | null, string]>([
    [null, "nothing that is there"],
    [at("/"), "a place outside the allowed roots, links followed"],
    [at("/etc"), "a place outside the allowed roots, links followed"],
    [at("/srv/database"), "a place outside the allowed roots, links followed"],
    [at("/srv"), "a place outside the allowed roots, links followed"],
    [at("/srv/data/a.sock", "other"), "a socket, device or pipe"],
    [at("/srv/data/berth/files"), "a place that holds the engine's socket or the service's own data"],
  ])("refuses the source %o", (found, said) => {
    expect(sourceFault(found)).toBe(said);
  });

  it("allows nothing without roots, and the root of the host is none", () => {
    for (const roots of [[], ["/"]])
      expect(sourceFault(at("/srv/data/a"), roots)).toBe("a place outside the allowed roots");
  });

  it("refuses what a box could have replaced through a writable mount", () => {
    const mounts = [aMount({ readOnly: false }), aMount({ target: "/other", source: "/srv/data/a/b" })];
    const found = [at("/srv/data/a"), at("/srv/data/a/b")];
    expect(findMountFaults(mounts, found, GROUND)).toMatchObject([
      { index: 1, part: "source", found: "a place inside a writable extra mount" },
    ]);
    expect(
      findMountFaults(
        mounts.map((mount) => ({ ...mount, readOnly: true })),
        found,
        GROUND,
      ),
    ).toEqual([]);
    expect(findMountFaults(mounts, [null, at("/srv/data/a/b")], GROUND)).toMatchObject([{ index: 0 }]);
  });

  it.each([
    "/workspace",
    "/workspace/data",
    "/tmp/x",
    "/var",
    "/run",
    "/run/berth",
    "/opt",
    "/opt/berth/x",
    "/proc/sys",
    "/dev/shm",
    "/",
    "relative",
    "/data/",
    "/data/../etc",
    "/a//b",
    "/line\nend",
  ])("refuses the target %j", (target) => {
    expect(targetFaults(target)).toHaveLength(1);
  });

  it("refuses two mounts of which one would lie in the other", () => {
    expect(targetFaults("/data", "/data/more", "/database")).toEqual([
      "0 target: a place that meets another extra mount",
      "1 target: a place that meets another extra mount",
    ]);
    expect(targetFaults("/data", "/data")).toHaveLength(2);
    expect(targetFaults("/opt/models", "/workspaces", "/srv/x")).toEqual([]);
  });
});

describe("isPlainPath", () => {
  it("takes absolute paths in their shortest form, the root among them", () => {
    expect(["/", "/a", "/a b/ü"].map(isPlainPath)).toEqual([true, true, true]);
    expect(["", "a", "/a/", "/./a", `/${"a".repeat(4096)}`].map(isPlainPath)).toEqual([
      false,
      false,
      false,
      false,
      false,
    ]);
  });
});
