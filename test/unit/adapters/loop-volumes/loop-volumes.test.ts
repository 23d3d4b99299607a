import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runHostCommand } from "../../../../src/adapters/loop-volumes/host-command.js";
import { LoopVolumes } from "../../../../src/adapters/loop-volumes/loop-volumes.js";

const FOREVER = { signal: new AbortController().signal };
const SIZE = { quotaMib: 8, entries: 1000 };

describe("LoopVolumes", () => {
  let directory: string;
  let volumes: LoopVolumes;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "berth-loops-"));
    volumes = new LoopVolumes({ directory });
  });
  afterEach(async () => rm(directory, { recursive: true, force: true }));

  it("has nothing where nothing was made, and finds removing that no failure", async () => {
    expect(await new LoopVolumes({ directory: join(directory, "none") }).list(FOREVER)).toEqual([]);
    expect(await volumes.has("one", FOREVER)).toBe(false);
    expect(await volumes.fits("one", SIZE, FOREVER)).toBe(false);
    expect(await volumes.use("one", FOREVER)).toBe(null);
    await volumes.unmount("one", FOREVER);
    await volumes.remove("one", FOREVER);
    expect(await readdir(directory)).toEqual([]);
  });

  it("lists and removes what a crash left half-made", async () => {
    await mkdir(join(directory, "one", "mount"), { recursive: true });
    await writeFile(join(directory, "one", "image.new"), "half");
    expect(await volumes.list(FOREVER)).toEqual(["one"]);
    expect(await volumes.has("one", FOREVER)).toBe(false);
    await volumes.remove("one", FOREVER);
    expect(await readdir(directory)).toEqual([]);
  });

  it("deletes nothing that it did not make", async () => {
    await mkdir(join(directory, "one", "mount", "workspace"), { recursive: true });
    await writeFile(join(directory, "one", "mount", "workspace", "file"), "of somebody");
    await volumes.remove("one", FOREVER);
    expect(await readdir(join(directory, "one", "mount", "workspace"))).toEqual(["file"]);
  });

  it.each(["..", "a/b", "", ".hidden", "x".repeat(129)])(
    "takes no name that is no record's: %j",
    async (name) => {
      await expect(volumes.ready(name, SIZE, FOREVER)).rejects.toMatchObject({ code: "box.validation" });
      await expect(volumes.remove(name, FOREVER)).rejects.toMatchObject({ code: "box.validation" });
      expect(await readdir(directory)).toEqual([]);
    },
  );

  it("does nothing for a caller that has given up", async () => {
    const options = { signal: AbortSignal.abort(new Error("given up")) };
    await expect(volumes.ready("one", SIZE, options)).rejects.toThrow("given up");
    await expect(volumes.list(options)).rejects.toThrow("given up");
    expect(await readdir(directory)).toEqual([]);
  });
});

describe("runHostCommand", () => {
  it("gives what the program prints", async () => {
    expect(await runHostCommand("printf", ["%s", "well"], FOREVER)).toBe("well");
  });

  it("says what a program has against it, without paths", async () => {
    await expect(runHostCommand("ls", ["/nowhere/image"], FOREVER)).rejects.toMatchObject({
      code: "box.readiness",
      message: "The program ls failed: ls: cannot access '<path>': No such file or directory.",
    });
    await expect(runHostCommand("false", [], FOREVER)).rejects.toThrow(
      "The program false failed: it ended with 1.",
    );
  });

  it("says that there is no such program", async () => {
    await expect(runHostCommand("mkfs.none", [], FOREVER)).rejects.toThrow(
      "The program mkfs.none is not on this machine.",
    );
  });

  it("ends a program whose caller gives up", async () => {
    const caller = new AbortController();
    const work = runHostCommand("sleep", ["60"], { signal: caller.signal });
    caller.abort(new Error("given up"));
    await expect(work).rejects.toThrow("given up");
  });
});
