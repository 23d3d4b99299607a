import { beforeEach, describe, expect, it } from "vitest";
import { MemoryBlobStore } from "../../../src/adapters/memory/memory-blob-store.js";
import { StagedFile } from "../../../src/runs/staged-file.js";
import { FakeClock } from "../../fakes/fake-clock.js";

describe("StagedFile", () => {
  let blobs: MemoryBlobStore;

  beforeEach(() => {
    blobs = new MemoryBlobStore({ clock: new FakeClock() });
  });

  it("counts the bytes and keeps the first ones, however they come", async () => {
    await using staged = new StagedFile(await blobs.stage());
    for (let i = 0; i < 100; i += 1) await staged.write(Buffer.alloc(100, i));
    expect(staged.sizeBytes).toBe(10_000);
    expect(staged.head).toHaveLength(4100);
    expect(staged.head[4099]).toBe(40);
  });

  it("has as many first bytes as a small file has", async () => {
    await using staged = new StagedFile(await blobs.stage());
    expect(staged.head).toHaveLength(0);
    await staged.write(Buffer.from("abc"));
    expect(Buffer.from(staged.head).toString()).toBe("abc");
  });

  it("makes its bytes readable when it is committed", async () => {
    await using staged = new StagedFile(await blobs.stage());
    await staged.write(Buffer.from("hello"));
    const { sha256, sizeBytes } = await staged.commit();
    expect([sizeBytes, await blobs.size(sha256)]).toEqual([5, 5]);
  });

  it("gives back what only passes through", async () => {
    await using staged = new StagedFile(await blobs.stage());
    await staged.write(Buffer.from("hel"));
    await staged.write(Buffer.from("lo"));
    const pieces: Uint8Array[] = [];
    for await (const piece of staged.read({ signal: new AbortController().signal })) pieces.push(piece);
    expect(Buffer.concat(pieces).toString()).toBe("hello");
  });

  it("takes nothing after it was disposed of", async () => {
    const staged = new StagedFile(await blobs.stage());
    await staged[Symbol.asyncDispose]();
    await expect(staged.commit()).rejects.toThrow(/ended/);
  });
});
