import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadServiceIdentity } from "../../../../src/adapters/filesystem/service-identity.js";
import { textLike } from "../../../support/text-like.js";

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "berth-identity-"));
});

afterEach(async () => {
  await rm(directory, { recursive: true, force: true });
});

describe("loadServiceIdentity", () => {
  it("gives the same identity at every start", async () => {
    const first = await loadServiceIdentity(directory);
    expect(await loadServiceIdentity(directory)).toEqual(first);
  });

  it("gives one identity to first starts that race", async () => {
    const all = await Promise.all(Array.from({ length: 8 }, () => loadServiceIdentity(directory)));
    expect(new Set(all.map((identity) => identity.serviceId)).size).toBe(1);
    expect(await readdir(directory)).toEqual(["service.json"]);
  });

  it("makes the directory and lets nobody else read the secret", async () => {
    const deep = join(directory, "a data directory", "inside");
    await loadServiceIdentity(deep);
    expect((await stat(join(deep, "service.json"))).mode & 0o077).toBe(0);
  });

  it("names the settings when the directory cannot be had, and not the place", async () => {
    const file = join(directory, "a file");
    await writeFile(file, "");
    await expect(loadServiceIdentity(file)).rejects.toThrow(
      expect.objectContaining({
        code: "service.not_ready",
        message: "The data directory cannot be used (EEXIST).",
        hint: textLike(/BERTH_DATA_DIR/),
      }),
    );
  });
});
