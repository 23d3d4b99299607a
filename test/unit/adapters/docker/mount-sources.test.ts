import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { resolveMounts } from "../../../../src/adapters/docker/mount-sources.js";

let place = "";
beforeEach(async () => {
  place = await realpath(await mkdtemp(join(tmpdir(), "berth mounts ")));
  await mkdir(join(place, "allowed/data"), { recursive: true });
  await mkdir(join(place, "secret"));
  await symlink(join(place, "secret"), join(place, "allowed/way-out"));
  await symlink(join(place, "allowed"), join(place, "alias"));
  await writeFile(join(place, "allowed/list.csv"), "1");
});
afterEach(async () => rm(place, { recursive: true, force: true }));

const mount = (source: string, target = "/data") => ({ source: join(place, source), target, readOnly: true });
const rules = () => ({ allowedRoots: [join(place, "alias")], ownPlaces: [join(place, "allowed/none")] });

describe("resolveMounts", () => {
  it("answers where the sources really lie, links followed, when that is inside an allowed root", async () => {
    const mounts = [mount("alias/data"), mount("allowed/list.csv", "/list.csv")];
    expect((await resolveMounts(mounts, rules())).map(({ source }) => source)).toEqual([
      join(place, "allowed/data"),
      join(place, "allowed/list.csv"),
    ]);
    expect(await resolveMounts([], rules())).toEqual([]);
  });

  it("refuses a link that leads out of the allowed root, and what is not there, and tells no path of the host", async () => {
    for (const source of ["allowed/way-out", "allowed/missing", "secret"]) {
      const refused = resolveMounts([mount(source)], rules());
      await expect(refused).rejects.toMatchObject({ code: "box.validation", param: "boxes.extra_mounts" });
      await expect(refused).rejects.not.toThrow(place);
    }
    await expect(
      resolveMounts([mount("allowed/data")], { allowedRoots: ["/missing"], ownPlaces: [] }),
    ).rejects.toThrow(
      'The extra mount at "/data" is not allowed: its source is a place outside the allowed roots.',
    );
  });
});
