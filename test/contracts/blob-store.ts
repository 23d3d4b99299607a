/** What every blob store promises (ports/blob-store.ts). */
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { BlobStore } from "../../src/ports/blob-store.js";
import type { Opened } from "../support/opened.js";

export interface BlobStoreAndTime {
  readonly blobs: BlobStore;
  /** Sets the store's clock, in Unix milliseconds. */
  setTime(now: number): void;
}

type Make = () => Promise<Opened<BlobStoreAndTime>>;

const patient = { signal: new AbortController().signal };

function sha256Of(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

async function keep(blobs: BlobStore, ...pieces: readonly Uint8Array[]) {
  await using staging = await blobs.stage();
  for (const piece of pieces) await staging.write(piece);
  return await staging.commit();
}

async function readAll(
  blobs: BlobStore,
  sha256: string,
  range: { readonly start: number; readonly end: number } | null = null,
): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of blobs.read(sha256, range, patient)) pieces.push(piece);
  return Buffer.concat(pieces);
}

async function listed(blobs: BlobStore, committedBefore: number): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const sha256 of blobs.list(committedBefore, patient)) found.push(sha256);
  return found.toSorted();
}

export function describeBlobStore(name: string, make: Make): void {
  describe(`BlobStore of ${name}`, () => {
    describeWriting(make);
    describeReading(make);
    describeRemoval(make);
  });
}

function describeWriting(make: Make): void {
  it("keeps bytes under their sha256, however they were cut", async () => {
    await using store = await make();
    const bytes = Buffer.from("a\0b\u00ffc".repeat(50_000), "latin1");
    const kept = await keep(store.it.blobs, bytes.subarray(0, 7), bytes.subarray(7));
    expect(kept).toEqual({ sha256: sha256Of(bytes), sizeBytes: bytes.byteLength });
    expect(await store.it.blobs.size(kept.sha256)).toBe(bytes.byteLength);
    expect(bytes.equals(await readAll(store.it.blobs, kept.sha256))).toBe(true);
  });

  it("keeps no bytes at all just as well", async () => {
    await using store = await make();
    const kept = await keep(store.it.blobs);
    expect(kept).toEqual({ sha256: sha256Of(Buffer.alloc(0)), sizeBytes: 0 });
    expect(await store.it.blobs.size(kept.sha256)).toBe(0);
    expect(await readAll(store.it.blobs, kept.sha256)).toHaveLength(0);
  });

  it("shows nothing before the commit, and nothing of a staging that was given up", async () => {
    await using store = await make();
    const bytes = Buffer.from("never");
    {
      await using staging = await store.it.blobs.stage();
      await staging.write(bytes);
      expect(await store.it.blobs.size(sha256Of(bytes))).toBeNull();
    }
    expect(await store.it.blobs.size(sha256Of(bytes))).toBeNull();
  });

  it("gives back what passes through a staging, while nothing of it is kept", async () => {
    await using store = await make();
    const bytes = Buffer.from("a\0b\u00ffc".repeat(50_000), "latin1");
    await using staging = await store.it.blobs.stage();
    await staging.write(bytes.subarray(0, 7));
    await staging.write(bytes.subarray(7));
    for (const _time of ["first", "again"]) {
      const pieces: Uint8Array[] = [];
      for await (const piece of staging.read(patient)) pieces.push(piece);
      expect(bytes.equals(Buffer.concat(pieces))).toBe(true);
    }
    expect(await store.it.blobs.size(sha256Of(bytes))).toBeNull();
    await staging[Symbol.asyncDispose]();
    await expect(staging.read(patient)[Symbol.asyncIterator]().next()).rejects.toThrow("ended");
  });

  it("does not see later changes of the buffer it was given", async () => {
    await using store = await make();
    await using staging = await store.it.blobs.stage();
    const buffer = Buffer.from("first");
    await staging.write(buffer);
    buffer.fill(0);
    await staging.write(Buffer.from("!"));
    const { sha256 } = await staging.commit();
    expect(sha256).toBe(sha256Of(Buffer.from("first!")));
    expect((await readAll(store.it.blobs, sha256)).toString()).toBe("first!");
  });

  it("keeps equal bytes once, also when they come at the same time", async () => {
    await using store = await make();
    const bytes = Buffer.from("the same");
    const kept = await Promise.all([keep(store.it.blobs, bytes), keep(store.it.blobs, bytes)]);
    expect(kept[0]).toEqual(kept[1]);
    await keep(store.it.blobs, bytes);
    expect((await readAll(store.it.blobs, sha256Of(bytes))).toString()).toBe("the same");
    expect(await store.it.blobs.remove(sha256Of(bytes))).toBe(true);
    expect(await store.it.blobs.size(sha256Of(bytes))).toBeNull();
  });

  it("takes nothing more once a staging has ended, and lets it be disposed of twice", async () => {
    await using store = await make();
    await using staging = await store.it.blobs.stage();
    await staging.commit();
    await expect(staging.write(Buffer.from("more"))).rejects.toThrow(/ended/);
    await expect(staging.commit()).rejects.toThrow(/ended/);
    await staging[Symbol.asyncDispose]();
    await staging[Symbol.asyncDispose]();
    expect(await store.it.blobs.size(sha256Of(Buffer.alloc(0)))).toBe(0);
  });
}

function describeReading(make: Make): void {
  it.each([
    { start: 0, end: 0, text: "0" },
    { start: 2, end: 4, text: "234" },
    { start: 8, end: 99, text: "89" },
    { start: 10, end: 12, text: "" },
  ])("reads from $start to $end, both included", async ({ start, end, text }) => {
    await using store = await make();
    const { sha256 } = await keep(store.it.blobs, Buffer.from("0123456789"));
    expect((await readAll(store.it.blobs, sha256, { start, end })).toString()).toBe(text);
  });

  it.each(["0".repeat(64), "../../etc/passwd", "", "A".repeat(64)])("has no bytes under %j", async (name) => {
    await using store = await make();
    expect(await store.it.blobs.size(name)).toBeNull();
    expect(await store.it.blobs.remove(name)).toBe(false);
    await expect(readAll(store.it.blobs, name)).rejects.toMatchObject({ code: "file.not_found" });
  });

  it("can be left early and read again", async () => {
    await using store = await make();
    const bytes = Buffer.alloc(300_000, 7);
    const { sha256 } = await keep(store.it.blobs, bytes);
    let seen = 0;
    for await (const piece of store.it.blobs.read(sha256, null, patient)) {
      seen += piece.byteLength;
      break;
    }
    expect(seen).toBeGreaterThan(0);
    expect(seen).toBeLessThan(bytes.byteLength);
    expect(await readAll(store.it.blobs, sha256)).toHaveLength(bytes.byteLength);
  });

  it("stops reading when the signal aborts", async () => {
    await using store = await make();
    const { sha256 } = await keep(store.it.blobs, Buffer.alloc(300_000));
    const controller = new AbortController();
    const readOn = async (): Promise<void> => {
      for await (const piece of store.it.blobs.read(sha256, null, controller))
        if (piece.byteLength > 0) controller.abort(new Error("enough"));
    };
    await expect(readOn()).rejects.toThrow("enough");
  });
}

function describeRemoval(make: Make): void {
  it("lists the bytes that were committed before a time", async () => {
    await using store = await make();
    const { blobs } = store.it;
    store.it.setTime(5_000);
    const old = await keep(blobs, Buffer.from("old"));
    const older = await keep(blobs, Buffer.from("used again"));
    store.it.setTime(8_000);
    await keep(blobs, Buffer.from("used again"));
    await using _staging = await blobs.stage();
    expect(await listed(blobs, 5_000)).toEqual([]);
    expect(await listed(blobs, 8_000)).toEqual([old.sha256]);
    expect(await listed(blobs, 8_001)).toEqual([old.sha256, older.sha256].toSorted());
    const aborted = { signal: AbortSignal.abort(new Error("stop")) };
    const first = blobs.list(8_001, aborted)[Symbol.asyncIterator]().next();
    await expect(first).rejects.toThrow("stop");
  });

  it("keeps bytes that were committed since, so that a record about to be written finds them", async () => {
    await using store = await make();
    store.it.setTime(5_000);
    const { sha256 } = await keep(store.it.blobs, Buffer.from("old"));
    store.it.setTime(8_000);
    await keep(store.it.blobs, Buffer.from("old"));
    expect(await store.it.blobs.remove(sha256, 8_000)).toBe(false);
    expect(await store.it.blobs.size(sha256)).toBe(3);
    expect(await store.it.blobs.remove(sha256, 8_001)).toBe(true);
    expect(await store.it.blobs.size(sha256)).toBeNull();
  });
}
