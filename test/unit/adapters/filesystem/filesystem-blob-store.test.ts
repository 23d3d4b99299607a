import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readlink, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FilesystemBlobStore } from "../../../../src/adapters/filesystem/filesystem-blob-store.js";
import { RandomIdSource } from "../../../../src/adapters/system/random-id-source.js";
import type { BlobStore } from "../../../../src/ports/blob-store.js";
import { describeBlobStore } from "../../../contracts/blob-store.js";
import { FakeClock } from "../../../fakes/fake-clock.js";
import { opened } from "../../../support/opened.js";

const ids = new RandomIdSource();
const patient = { signal: new AbortController().signal };

describeBlobStore("the file system", async () => {
  const root = await mkdtemp(join(tmpdir(), "berth-blobs-"));
  const clock = new FakeClock();
  const blobs = new FilesystemBlobStore({ root, clock, ids });
  await blobs.prepare();
  return opened({ blobs, setTime: (now: number) => clock.set(now) }, () => rm(root, { recursive: true }));
});

describe("FilesystemBlobStore", () => {
  let root = "";

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), "berth-blobs-"));
  });

  afterEach(() => rm(root, { recursive: true, force: true }));

  async function aStore(folder = root): Promise<FilesystemBlobStore> {
    const blobs = new FilesystemBlobStore({ root: folder, clock: new FakeClock(), ids });
    await blobs.prepare();
    return blobs;
  }

  const filesIn = async (folder: string): Promise<readonly string[]> =>
    (await readdir(join(root, folder), { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1));

  it("names a file by nothing but its sha256, readable by its owner alone", async () => {
    const blobs = await aStore();
    const kept = await keep(blobs, Buffer.from("bytes"));
    const path = `blobs/${kept.sha256.slice(0, 2)}/${kept.sha256}`;
    expect(await filesIn(".")).toEqual([path]);
    expect((await stat(join(root, path))).mode & 0o777).toBe(0o600);
    expect((await stat(join(root, "blobs"))).mode & 0o777).toBe(0o700);
  });

  it("leaves nothing in the staging folder, whether bytes are committed, given up or there already", async () => {
    const blobs = await aStore();
    await keep(blobs, Buffer.from("bytes"));
    await keep(blobs, Buffer.from("bytes"));
    {
      await using staging = await blobs.stage();
      await staging.write(Buffer.from("given up"));
      expect(await filesIn("staging")).toHaveLength(1);
    }
    expect(await filesIn("staging")).toEqual([]);
    expect(await filesIn("blobs")).toHaveLength(1);
  });

  it("removes what a crash left behind when it starts, and keeps what was complete", async () => {
    const kept = await keep(await aStore(), Buffer.from("complete"));
    await writeFile(join(root, "staging", "0123456789abcdef"), "half");
    await mkdir(join(root, "staging", "folder"));
    const blobs = await aStore();
    expect(await readdir(join(root, "staging"))).toEqual([]);
    expect(await blobs.size(kept.sha256)).toBe(8);
  });

  it("makes its folder with all parents", async () => {
    const blobs = await aStore(join(root, "deep", "er"));
    expect(await keep(blobs, Buffer.from("x"))).toMatchObject({ sizeBytes: 1 });
  });

  it("holds no file open after a read that was left early, one that failed, or a commit", async () => {
    const blobs = await aStore();
    const { sha256 } = await keep(blobs, Buffer.alloc(300_000));
    for await (const piece of blobs.read(sha256, null, patient)) if (piece.byteLength > 0) break;
    const controller = new AbortController();
    const abortedRead = async (): Promise<void> => {
      for await (const piece of blobs.read(sha256, null, controller))
        if (piece.byteLength > 0) controller.abort(new Error("left"));
    };
    await expect(abortedRead()).rejects.toThrow("left");
    expect(await openFilesBelow(root)).toEqual([]);
  });

  it("says so when a stored file was cut by somebody else while it is read", async () => {
    const blobs = await aStore();
    const { sha256 } = await keep(blobs, Buffer.alloc(300_000));
    const readAll = async (): Promise<void> => {
      for await (const piece of blobs.read(sha256, null, patient))
        if (piece.byteLength > 0) await writeFile(join(root, "blobs", sha256.slice(0, 2), sha256), "short");
    };
    await expect(readAll()).rejects.toMatchObject({ code: "internal" });
  });

  it("tells other faults of the disk from missing bytes", async () => {
    const blobs = await aStore();
    const sha256 = createHash("sha256").update("x").digest("hex");
    await mkdir(join(root, "blobs"), { recursive: true });
    await writeFile(join(root, "blobs", sha256.slice(0, 2)), "a file where a folder belongs");
    await expect(blobs.size(sha256)).rejects.toMatchObject({ code: "ENOTDIR" });
  });
});

async function keep(blobs: BlobStore, bytes: Uint8Array) {
  await using staging = await blobs.stage();
  await staging.write(bytes);
  return await staging.commit();
}

/** Paths of this process's open files below a folder. */
async function openFilesBelow(folder: string): Promise<readonly string[]> {
  const descriptors = await readdir("/proc/self/fd");
  const targets = await Promise.all(
    descriptors.map((descriptor) => readlink(`/proc/self/fd/${descriptor}`).catch(() => "")),
  );
  return targets.filter((target) => target.startsWith(folder));
}
