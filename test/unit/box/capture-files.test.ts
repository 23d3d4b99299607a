import { describe, expect, it } from "vitest";
import { MemoryBlobStore } from "../../../src/adapters/memory/memory-blob-store.js";
import { captureFiles } from "../../../src/box/capture-files.js";
import { CleanupStack } from "../../../src/lib/cleanup-stack.js";
import { FakeClock } from "../../fakes/fake-clock.js";
import { ENDLESS } from "./box-world.js";
import { MemoryBoxFiles } from "./memory-box-files.js";

const target = (box: MemoryBoxFiles, path: string) => {
  const entry = box.entry(path);
  if (entry === null) throw new Error("no entry");
  return { path, entry };
};

describe("captureFiles", () => {
  it("stages each file with its own count, hash and first bytes", async () => {
    const box = new MemoryBoxFiles();
    box.put("/workspace/a", "x".repeat(7000));
    box.put("/workspace/b", "");
    const blobs = new MemoryBlobStore({ clock: new FakeClock() });
    await using staged = new CleanupStack();
    const targets = ["/workspace/a", "/workspace/b"].map((path) => target(box, path));
    const request = { targets, maxFileBytes: 7000, maxTotalBytes: 7000, bytesBefore: 0 };
    const capture = await captureFiles({ files: box, blobs, staged }, request, ENDLESS);
    if (!capture.ok) throw new Error("refused");
    const [a, b] = capture.files;
    expect([a?.sizeBytes, a?.head.byteLength, b?.sizeBytes]).toEqual([7000, 4100, 0]);
    expect(await a?.staging.commit()).toEqual({ sha256: a?.sha256, sizeBytes: 7000 });
    expect(await blobs.size(b?.sha256 ?? "")).toBeNull();
  });

  it("takes nothing more of a file after its fault", async () => {
    const box = new MemoryBoxFiles();
    box.put("/workspace/a", "four");
    const { entry } = target(box, "/workspace/a");
    box.scriptedRead = [
      { type: "fault", index: 0, fault: "symlink_component" },
      { type: "entry", index: 0, entry },
      { type: "end", index: 0 },
    ];
    const blobs = new MemoryBlobStore({ clock: new FakeClock() });
    await using staged = new CleanupStack();
    const request = {
      targets: [{ path: "/workspace/a", entry }],
      maxFileBytes: 9,
      maxTotalBytes: 9,
      bytesBefore: 0,
    };
    expect(await captureFiles({ files: box, blobs, staged }, request, ENDLESS)).toEqual({
      ok: false,
      faults: [{ reason: "symlink_component", given: "/workspace/a" }],
    });
  });
});
