import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { FileStaging, translateFull } from "../../../../src/adapters/filesystem/file-staging.js";

/** A device that is always full. */
async function onAFullDisk(): Promise<FileStaging> {
  return new FileStaging({
    path: "/nonexistent/staged",
    file: await open("/dev/full", "w"),
    hash: createHash("sha256"),
    keep: async () => undefined,
  });
}

describe("FileStaging", () => {
  it("says that the disk is full, and takes nothing more", async () => {
    await using staging = await onAFullDisk();
    await expect(staging.write(Buffer.alloc(10))).rejects.toMatchObject({
      code: "box.quota",
      message: "The service has no disk space left for files.",
    });
    await expect(staging.write(Buffer.alloc(0))).rejects.toThrow("ended");
    await expect(staging.commit()).rejects.toThrow("ended");
  });
});

describe("translateFull", () => {
  it.each(["ENOSPC", "EDQUOT"])("translates %s", async (code) => {
    const failure = Object.assign(new Error("no space"), { code });
    await expect(translateFull(() => Promise.reject(failure))).rejects.toMatchObject({
      code: "box.quota",
      cause: failure,
    });
  });

  it("leaves other failures as they are", async () => {
    const failure = Object.assign(new Error("broken"), { code: "EIO" });
    await expect(translateFull(() => Promise.reject(failure))).rejects.toBe(failure);
    await expect(translateFull(() => Promise.reject(new Error("plain")))).rejects.toThrow("plain");
    await expect(translateFull(() => Promise.resolve(1))).resolves.toBe(1);
  });
});
