import { beforeEach, describe, expect, it } from "vitest";
import { openMemoryStores } from "../../../src/adapters/memory/open-memory-stores.js";
import { type ExportDeps, exportFiles } from "../../../src/box/export-files.js";
import { runDirectories } from "../../../src/box/export-paths.js";
import type { FileRecord } from "../../../src/domain/delivery.js";
import { KeyedLock } from "../../../src/lib/keyed-lock.js";
import type { FileStreamEvent } from "../../../src/ports/box-handle.js";
import { CountingIds } from "../../fakes/counting-ids.js";
import { FakeClock } from "../../fakes/fake-clock.js";
import { proves } from "../../support/proves.js";
import { MemoryBoxFiles } from "./memory-box-files.js";

const RUN = "run_1";
const { inbox, outbox } = runDirectories(RUN);
const LIMITS = { maxFileBytes: 5000, maxFiles: 5, maxTotalBytes: 9000 };
const EMPTY_FILE = { kind: "file" as const, bytes: new Uint8Array(0), linkCount: 1, readable: true };
const ENDLESS = new AbortController().signal;

let box: MemoryBoxFiles;
let stores: ReturnType<typeof openMemoryStores>;
let deps: ExportDeps;

beforeEach(() => {
  const clock = new FakeClock();
  box = new MemoryBoxFiles();
  stores = openMemoryStores({ clock });
  deps = {
    files: box,
    blobs: stores.blobs,
    fileStore: stores.files,
    locks: new KeyedLock(),
    sniffMimeType: async (name) => (name.endsWith(".png") ? "image/png" : "text/plain"),
    ids: new CountingIds(),
    clock,
  };
});

const run = (paths: unknown, signal: AbortSignal = ENDLESS) =>
  exportFiles(deps, { tenant: "main", runId: RUN, inbox, outbox, paths, limits: LIMITS }, { signal });
const registered = (): Promise<readonly FileRecord[]> => stores.files.listByRun("main", RUN);
const errorOf = async (paths: unknown): Promise<string> => {
  const answer = await run(paths);
  return answer.ok ? "no error" : answer.error;
};
const bytesOf = async (sha256: string): Promise<string> => {
  const pieces: Uint8Array[] = [];
  for await (const piece of stores.blobs.read(sha256, null, { signal: ENDLESS })) pieces.push(piece);
  return Buffer.concat(pieces).toString();
};

describe("exportFiles", () => {
  it("answers name, type, size and handle without bytes, and removes only what was listed", async () => {
    proves("OUT-02", "OUT-03");
    box.put(`${outbox}/a.pdf`, "pdf bytes");
    box.put(`${outbox}/b.txt`, "b");
    const answer = await run([`${outbox}/a.pdf`]);
    expect(answer).toEqual({
      ok: true,
      files: [
        {
          file_id: "file_1",
          name: "a.pdf",
          type: "text/plain",
          size: 9,
          sha256: "d1cb546b102fab8362de413fdacc187b05be10df72b72db3b3e50b4953f6a555",
          source_removed: true,
        },
      ],
      warnings: [],
    });
    expect([...box.nodes.keys()]).toEqual([`${outbox}/b.txt`]);
  });

  it("registers captured bytes with their own count, hash, kind and source", async () => {
    box.put(`${outbox}/chart.png`, "png");
    await run([`${outbox}/chart.png`]);
    const [record] = await registered();
    expect(record).toMatchObject({
      tenant: "main",
      runId: RUN,
      name: "chart.png",
      kind: "image",
      mimeType: "image/png",
      sizeBytes: 3,
      sourcePath: `${outbox}/chart.png`,
      state: "pending",
    });
    expect(await bytesOf(record?.sha256 ?? "")).toBe("png");
  });

  it("takes files of the whole workspace, the own inbox and empty ones, in one lookup, read and removal", async () => {
    box.put("/workspace/report.md", "r");
    box.put(`${inbox}/0/given.csv`, "g");
    box.put(`${outbox}/empty.bin`, "");
    const answer = await run(["/workspace/./report.md", `${inbox}/0/given.csv`, `${outbox}/empty.bin`]);
    expect(answer).toMatchObject({ ok: true, files: [{ size: 1 }, { size: 1 }, { size: 0 }] });
    expect(box.calls).toEqual(["stat 3", "read 3", "remove 3"]);
  });

  it("refuses a relative path with the exact outbox path, which then works", async () => {
    proves("OUT-12");
    box.put("/workspace/report.md", "r");
    box.put(`${outbox}/out.txt`, "o");
    expect(await run(["/workspace/report.md"])).toMatchObject({ ok: true });
    expect(await errorOf(["../x"])).toContain("must be absolute");
    const error = await errorOf(["out.txt"]);
    expect(error).toContain(`"${outbox}/out.txt"`);
    expect(await run([/Use "([^"]+)"/.exec(error)?.[1]])).toMatchObject({ ok: true });
  });

  it.each(["/", "", ".", outbox, `${outbox}/`, "/workspace", inbox])(
    "refuses %s and deletes nothing",
    async (path) => {
      proves("OUT-16");
      box.put(`${outbox}/a.txt`, "a");
      box.put(outbox, "", { kind: "directory" });
      expect(await run([path])).toMatchObject({ ok: false });
      expect(box.nodes.size).toBe(2);
      expect(await registered()).toEqual([]);
    },
  );

  it("tells every failing path of a selection with its remedy, and does nothing at all", async () => {
    box.put(`${outbox}/good.txt`, "g");
    box.put(`${outbox}/dir`, "", { kind: "directory" });
    box.put(`${outbox}/link`, "", { kind: "link" });
    box.put(`${outbox}/pipe`, "", { kind: "other" });
    box.put(`${outbox}/hard`, "h", { linkCount: 2 });
    box.put(`${outbox}/secret`, "s", { readable: false });
    const names = ["good.txt", "dir", "link", "pipe", "hard"];
    const error = await errorOf(names.map((name) => `${outbox}/${name}`));
    expect(error.split("\n")).toEqual([
      "Nothing was exported and nothing was removed:",
      `- "${outbox}/dir": it is a directory. Pack it into an archive, or name its files one by one.`,
      `- "${outbox}/link": it is a link. Export the file it points to, or a copy.`,
      `- "${outbox}/pipe": it is not a regular file.`,
      `- "${outbox}/hard": it has more than one hard link. Copy it and export the copy.`,
    ]);
    expect(await errorOf([`${outbox}/secret`, `${outbox}/gone`, 7])).toMatch(
      /an entry: every entry.*\n.*secret": it cannot be read.*\n.*gone": there is no such file/,
    );
    expect(await registered()).toEqual([]);
    expect(box.nodes.size).toBe(6);
    expect(box.calls).not.toContain("remove 1");
  });

  it("holds a file to exactly the limit", async () => {
    box.put(`${outbox}/limit`, "x".repeat(5000));
    box.put(`${outbox}/over`, "x".repeat(5001));
    expect(await errorOf([`${outbox}/over`])).toContain(
      "it has 5001 bytes; the limit is 5000 bytes per file",
    );
    expect(await run([`${outbox}/limit`])).toMatchObject({ ok: true });
  });

  it("refuses a selection above the run's total, earlier exports included, before it registers anything", async () => {
    proves("OUT-06");
    for (const name of ["a", "b", "c"]) box.put(`${outbox}/${name}`, name.repeat(4000));
    await run([`${outbox}/a`]);
    const error = await errorOf([`${outbox}/b`, `${outbox}/c`]);
    expect(error).toContain("8000 bytes, with 4000 bytes exported earlier");
    expect(error).toContain("limit of 9000 bytes per run");
    expect(await registered()).toHaveLength(1);
    expect(await run([`${outbox}/b`])).toMatchObject({ ok: true });
  });

  it("counts files over the calls of a run", async () => {
    for (const name of ["a", "b", "c", "d", "e", "f"]) box.put(`${outbox}/${name}`, name);
    await run([`${outbox}/a`, `${outbox}/b`]);
    expect(await errorOf(["c", "d", "e", "f"].map((name) => `${outbox}/${name}`))).toContain(
      "4 files, with 2 exported earlier in this run, are more than the limit of 5",
    );
    expect(await errorOf(["1", "2", "3", "4", "5", "6"])).toContain("6 files, with 2 exported earlier");
  });

  it("says of a path exported before, gone since, what it was delivered as", async () => {
    proves("OUT-19");
    box.put(`${outbox}/a.txt`, "a");
    const first = await run([`${outbox}/a.txt`]);
    expect(first).toMatchObject({ ok: true, files: [{ file_id: "file_1", source_removed: true }] });
    expect(box.nodes.size).toBe(0);
    expect(await errorOf([`${outbox}/a.txt`])).toContain("already exported in this run as file_1");
    expect(await registered()).toHaveLength(1);
  });

  it("never delivers a source twice that could not be removed", async () => {
    box.put(`${outbox}/a.txt`, "a");
    box.stuck.add(`${outbox}/a.txt`);
    expect(await run([`${outbox}/a.txt`])).toMatchObject({
      ok: true,
      files: [{ source_removed: false }],
      warnings: [
        `"${outbox}/a.txt" is registered as file_1, but its source is still there: the box user may not remove it. Do not export it again.`,
      ],
    });
    expect(await errorOf([`${outbox}/a.txt`])).toContain("already exported in this run as file_1");
    expect(await registered()).toHaveLength(1);
  });

  it("keeps a source that was changed after its capture, and counts one that is gone already as removed", async () => {
    box.put(`${outbox}/a.txt`, "a");
    box.put(`${outbox}/b.txt`, "b");
    box.beforeRemove = () => {
      box.put(`${outbox}/a.txt`, "changed");
      box.nodes.delete(`${outbox}/b.txt`);
    };
    expect(await run([`${outbox}/a.txt`, `${outbox}/b.txt`])).toMatchObject({
      files: [{ source_removed: false }, { source_removed: true }],
      warnings: [expect.stringContaining("it was changed meanwhile")],
    });
    expect(box.nodes.has(`${outbox}/a.txt`)).toBe(true);
  });

  it("keeps the export when the box is lost before the removal", async () => {
    box.put(`${outbox}/a.txt`, "a");
    box.failRemove = true;
    expect(await run([`${outbox}/a.txt`])).toMatchObject({ ok: true, warnings: [expect.any(String)] });
    expect(await registered()).toHaveLength(1);
  });

  it("takes a file written anew at an exported path as a new file, under a numbered name", async () => {
    box.put(`${outbox}/a.txt`, "one");
    await run([`${outbox}/a.txt`]);
    box.put(`${outbox}/a.txt`, "two");
    box.put("/workspace/a.txt", "three");
    await run([`${outbox}/a.txt`, "/workspace/a.txt"]);
    expect((await registered()).map(({ name }) => name)).toEqual(["a.txt", "a (2).txt", "a (3).txt"]);
  });

  it("delivers the bytes of the moment of export", async () => {
    proves("OUT-05");
    box.put(`${outbox}/a.txt`, "then");
    await run([`${outbox}/a.txt`]);
    box.put(`${outbox}/a.txt`, "later");
    const [record] = await registered();
    expect(await bytesOf(record?.sha256 ?? "")).toBe("then");
  });

  it("fails as a whole when one file vanishes, changes or turns into something else, and only that call", async () => {
    proves("OUT-21");
    const paths = [`${outbox}/a`, `${outbox}/b`];
    for (const path of paths) box.put(path, "x");
    box.beforeRead = () => void box.nodes.delete(`${outbox}/b`);
    expect(await errorOf(paths)).toContain(`"${outbox}/b": it vanished while it was read`);
    box.put(`${outbox}/b`, "x");
    box.beforeRead = () => box.put(`${outbox}/b`, "changed");
    expect(await errorOf(paths)).toContain(`"${outbox}/b": it changed while it was read`);
    box.beforeRead = () => {};
    expect(await registered()).toEqual([]);
    expect(box.nodes.size).toBe(2);
    expect(await run(paths)).toMatchObject({ ok: true });
  });

  it("stops reading one byte above the limit, whatever size the box claimed", async () => {
    box.put(`${outbox}/a`, "tiny");
    const entry = box.entry(`${outbox}/a`);
    if (entry === null) throw new Error("no entry");
    const flood = { type: "bytes", index: 0, bytes: new Uint8Array(5001) } as const;
    box.scriptedRead = [{ type: "entry", index: 0, entry }, flood, flood, { type: "end", index: 0 }];
    expect(await errorOf([`${outbox}/a`])).toContain("it has 5001 bytes; the limit is 5000");
  });

  it("stops reading above the run's total", async () => {
    box.put(`${outbox}/a`, "a");
    box.put(`${outbox}/b`, "b");
    const [one, two] = [box.entry(`${outbox}/a`), box.entry(`${outbox}/b`)];
    if (one === null || two === null) throw new Error("no entry");
    const bytes = new Uint8Array(4900);
    box.scriptedRead = [
      { type: "entry", index: 0, entry: one },
      { type: "bytes", index: 0, bytes },
      { type: "entry", index: 1, entry: two },
      { type: "bytes", index: 1, bytes },
    ];
    expect(await errorOf([`${outbox}/a`, `${outbox}/b`])).toContain(
      "9800 bytes, with 0 bytes exported earlier",
    );
  });

  it("believes no stream that leaves out, repeats or cuts what it promised", async () => {
    box.put(`${outbox}/a`, "four");
    const entry = box.entry(`${outbox}/a`);
    if (entry === null) throw new Error("no entry");
    const begin = { type: "entry", index: 0, entry } as const;
    const some = { type: "bytes", index: 0, bytes: Buffer.from("four") } as const;
    const end = { type: "end", index: 0 } as const;
    const streams: readonly (readonly FileStreamEvent[])[] = [
      [],
      [begin, some],
      [begin, end],
      [some, end],
      [end],
      [begin, some, end, end],
      [begin, some, some, end],
      [{ ...begin, index: 3 }, some, end],
      [{ ...begin, entry: { ...entry, kind: "link" } }, some, end],
      [{ ...begin, entry: { ...entry, version: "other" } }, some, end],
      [begin, { type: "fault", index: 0, fault: "unreadable" }, some, end],
    ];
    for (const stream of streams) {
      box.scriptedRead = stream;
      expect(await run([`${outbox}/a`])).toMatchObject({ ok: false });
    }
    expect(await registered()).toEqual([]);
    box.scriptedRead = [begin, some, end];
    expect(await run([`${outbox}/a`])).toMatchObject({ ok: true });
  });

  it("accepts no export after a cancel, not even one that was read already", async () => {
    box.put(`${outbox}/a`, "a");
    const cancel = new AbortController();
    deps = {
      ...deps,
      sniffMimeType: async () => {
        cancel.abort(new Error("cancelled"));
        return "text/plain";
      },
    };
    await expect(run([`${outbox}/a`], cancel.signal)).rejects.toThrow("cancelled");
    await expect(run([`${outbox}/a`], cancel.signal)).rejects.toThrow("cancelled");
    expect(await registered()).toEqual([]);
    expect(box.nodes.size).toBe(1);
  });

  it("runs the exports of one run one at a time, so that totals hold", async () => {
    box.put(`${outbox}/a`, "a".repeat(4900));
    box.put(`${outbox}/b`, "b".repeat(4900));
    const answers = await Promise.all([run([`${outbox}/a`]), run([`${outbox}/b`])]);
    expect(answers.map(({ ok }) => ok)).toEqual([true, false]);
    expect(await registered()).toHaveLength(1);
  });

  it("looks at nothing but what was named, however full the outbox is", async () => {
    proves("OUT-11");
    for (let i = 0; i < 100_000; i += 1) box.nodes.set(`${outbox}/f${i}`, EMPTY_FILE);
    box.put(`${outbox}/wanted.txt`, "w");
    expect(await run([`${outbox}/wanted.txt`])).toMatchObject({ ok: true });
    expect(box.calls).toEqual(["stat 1", "read 1", "remove 1"]);
    expect(box.nodes.size).toBe(100_000);
  });

  it("keeps two runs of one box apart: each its own directories, limits and files", async () => {
    proves("OUT-10");
    const other = runDirectories("run_2");
    box.put(`${outbox}/a.txt`, "one");
    box.put(`${other.outbox}/a.txt`, "two");
    expect(await errorOf([`${other.outbox}/a.txt`])).toContain("does not belong to this run");
    const request = { tenant: "main", runId: "run_2" as const, ...other, limits: LIMITS };
    const answers = await Promise.all([
      run([`${outbox}/a.txt`]),
      exportFiles(deps, { ...request, paths: [`${other.outbox}/a.txt`] }, { signal: ENDLESS }),
    ]);
    expect(answers.map(({ ok }) => ok)).toEqual([true, true]);
    const [mine, theirs] = [await registered(), await stores.files.listByRun("main", "run_2")];
    expect([mine.map(({ name }) => name), theirs.map(({ name }) => name)]).toEqual([["a.txt"], ["a.txt"]]);
    expect(await bytesOf(theirs[0]?.sha256 ?? "")).toBe("two");
  });

  it.each([undefined, null, "a.txt", {}, []])("asks for a list instead of %o", async (paths) => {
    expect(await errorOf(paths)).toContain(`["${outbox}/report.pdf"]`);
  });
});
