import { beforeEach, describe, expect, it } from "vitest";
import { type MemoryStores, openMemoryStores } from "../../../src/adapters/memory/open-memory-stores.js";
import { FileService } from "../../../src/runs/file-service.js";
import type { Caller } from "../../../src/runs/run-request.js";
import { CountingIds } from "../../fakes/counting-ids.js";
import { FakeClock } from "../../fakes/fake-clock.js";

const ANN: Caller = { tenant: "main", role: "client" };
const BOB: Caller = { tenant: "other", role: "client" };
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const options = { signal: new AbortController().signal };

let stores: MemoryStores;
let clock: FakeClock;
let files: FileService;

beforeEach(() => {
  clock = new FakeClock();
  stores = openMemoryStores({ clock });
  files = new FileService({
    ...stores,
    clock,
    ids: new CountingIds(),
    sniffMimeType: async (_name, head) => (head[0] === 0x89 ? "image/png" : "text/plain"),
    linkSecret: "secret",
  });
});

async function upload(content: string | Uint8Array, name = "a.txt", caller = ANN) {
  await using staged = await files.stage();
  await staged.write(Buffer.from(content));
  return await files.add(caller, { staged, name, purpose: "user_data" });
}

async function readText(
  id: Awaited<ReturnType<typeof upload>>,
  range: { start: number; end: number } | null,
) {
  const parts: Uint8Array[] = [];
  for await (const part of files.read(id, range, options)) parts.push(part);
  return Buffer.concat(parts).toString();
}

describe("FileService", () => {
  it("keeps an upload with its size, hash and the type its bytes have", async () => {
    const file = await upload(Uint8Array.from([0x89, 0x50]), "chart.png");
    expect(file).toMatchObject({
      tenant: "main",
      runId: null,
      name: "chart.png",
      kind: "image",
      mimeType: "image/png",
      sizeBytes: 2,
    });
    expect(await files.get(ANN, file.id)).toEqual(file);
  });

  it("reads the whole file or a range of it", async () => {
    const file = await upload("hello world");
    expect(await readText(file, null)).toBe("hello world");
    expect(await readText(file, { start: 6, end: 8 })).toBe("wor");
  });

  it.each([
    ["../../etc/passwd", "passwd"],
    ["a\r\nSet-Cookie: x=1.txt", "aSet-Cookie: x=1.txt"],
    ["..", "file"],
    ["报告 é.txt", "报告 é.txt"],
    [`${"n".repeat(300)}.txt`, `${"n".repeat(251)}.txt`],
  ])("keeps the name %j as %j", async (name, kept) => {
    expect((await upload("x", name)).name).toBe(kept);
  });

  it("leaves nothing of an upload that was not kept", async () => {
    {
      await using staged = await files.stage();
      await staged.write(Buffer.from("x"));
    }
    expect((await files.list(ANN, { limit: 10 })).files).toEqual([]);
  });

  it("answers as if there were no such file to another tenant", async () => {
    const file = await upload("x");
    await expect(files.get(BOB, file.id)).rejects.toMatchObject({ code: "file.not_found" });
    await expect(files.remove(BOB, file.id)).rejects.toMatchObject({ code: "file.not_found" });
    await expect(files.createLink(BOB, file.id, 60)).rejects.toMatchObject({ code: "file.not_found" });
    expect((await files.list(BOB, { limit: 10 })).files).toEqual([]);
  });

  it("lists newest first and says whether there are more", async () => {
    const names = ["1", "2", "3"];
    for (const name of names) await upload(name, name);
    const first = await files.list(ANN, { limit: 2 });
    expect(first.files.map(({ name }) => name)).toEqual(["3", "2"]);
    expect(first.hasMore).toBe(true);
    const second = await files.list(ANN, { limit: 2, after: first.files[1]?.id });
    expect(second).toMatchObject({ files: [{ name: "1" }], hasMore: false });
  });
});

describe("removing files", () => {
  it("keeps bytes that another record needs, and removes them with the last one", async () => {
    const first = await upload("same");
    const second = await upload("same", "b.txt", BOB);
    clock.advance(2 * HOUR);
    await files.remove(ANN, first.id);
    expect(await readText(second, null)).toBe("same");
    await files.remove(BOB, second.id);
    expect(await stores.blobs.size(second.sha256)).toBeNull();
  });

  it("leaves fresh bytes to a later sweep: somebody may be about to register them", async () => {
    const file = await upload("fresh");
    await files.remove(ANN, file.id);
    await files.removeExpired(0, options);
    expect(await stores.blobs.size(file.sha256)).toBe(5);
    clock.advance(2 * HOUR);
    await files.removeExpired(0, options);
    expect(await stores.blobs.size(file.sha256)).toBeNull();
  });

  it("sweeps bytes that never got a record, and none that has one", async () => {
    const kept = await upload("kept");
    await using staged = await files.stage();
    await staged.write(Buffer.from("lost"));
    const lost = await staged.commit();
    clock.advance(2 * HOUR);
    await files.removeExpired(0, options);
    expect(await stores.blobs.size(lost.sha256)).toBeNull();
    expect(await readText(kept, null)).toBe("kept");
  });

  it("sweeps what is older than the retention, and only that", async () => {
    for (let i = 0; i < 150; i += 1) await upload(`old ${i}`);
    clock.advance(10 * MINUTE);
    const young = await upload("young");
    expect(await files.removeExpired(clock.now() - 5 * MINUTE, options)).toBe(150);
    expect((await files.list(ANN, { limit: 10 })).files).toEqual([young]);
  });

  it("stops a sweep when it is told to", async () => {
    const controller = new AbortController();
    controller.abort(new Error("stop"));
    await expect(files.removeExpired(clock.now(), { signal: controller.signal })).rejects.toThrow("stop");
  });
});

describe("links", () => {
  it("open one file until they expire", async () => {
    const file = await upload("x");
    const { token, expiresAt } = await files.createLink(ANN, file.id, 60);
    expect(expiresAt).toBe(clock.now() / 1000 + 60);
    expect(await files.openLink(file.id, token)).toEqual(file);
    clock.advance(MINUTE);
    await expect(files.openLink(file.id, token)).rejects.toMatchObject({ code: "file.not_found" });
  });

  it("die with the file", async () => {
    const file = await upload("x");
    const { token } = await files.createLink(ANN, file.id, 60);
    await files.remove(ANN, file.id);
    await expect(files.openLink(file.id, token)).rejects.toMatchObject({ code: "file.not_found" });
  });

  it("open no other file", async () => {
    const file = await upload("x");
    const other = await upload("y");
    const { token } = await files.createLink(ANN, file.id, 60);
    await expect(files.openLink(other.id, token)).rejects.toMatchObject({ code: "file.not_found" });
  });
});
