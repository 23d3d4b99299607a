import { beforeEach, describe, expect, it } from "vitest";
import { openMemoryStores } from "../../../src/adapters/memory/open-memory-stores.js";
import { ClaimedFiles } from "../../../src/runs/claimed-files.js";
import { FakeClock } from "../../fakes/fake-clock.js";
import { aFile, aRun } from "../../support/records.js";

describe("ClaimedFiles", () => {
  const { files } = openMemoryStores({ clock: new FakeClock() });
  let claimed = new ClaimedFiles(files, aRun());

  beforeEach(async () => {
    claimed = new ClaimedFiles(files, aRun());
    for (const id of ["file_1", "file_2", "file_3"] as const) await files.remove("main", id);
    await files.register([aFile(), aFile({ id: "file_2" }), aFile({ id: "file_3", runId: "run_2" })]);
  });

  it("lets a message use files of its run", async () => {
    expect(await claimed.claim(["file_2", "file_1"])).toBe(true);
  });

  it("lets a message go without files", async () => {
    expect(await claimed.claim([])).toBe(true);
  });

  it.each([
    ["of another run", ["file_1", "file_3"]],
    ["that does not exist", ["file_9"]],
    ["named twice", ["file_1", "file_1"]],
  ] as const)("refuses a file %s", async (_what, ids) => {
    expect(await claimed.claim(ids)).toBe(false);
  });

  it("refuses a file that was used before", async () => {
    await claimed.claim(["file_1"]);
    expect(await claimed.claim(["file_1", "file_2"])).toBe(false);
  });

  it("uses none of a selection that it refuses", async () => {
    await claimed.claim(["file_1", "file_9"]);
    expect(await claimed.claim(["file_1"])).toBe(true);
  });
});
