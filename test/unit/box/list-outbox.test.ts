import { beforeEach, describe, expect, it } from "vitest";
import { listOutbox } from "../../../src/box/list-outbox.js";
import { MemoryBoxFiles } from "./memory-box-files.js";

const outbox = "/workspace/outbox/run_1";
const options = { signal: new AbortController().signal };
let box: MemoryBoxFiles;

beforeEach(() => {
  box = new MemoryBoxFiles();
});

describe("listOutbox", () => {
  it("tells path and bytes of what is left, sorted, without directories", async () => {
    box.put(`${outbox}/b/draft.txt`, "12345");
    box.put(`${outbox}/b`, "", { kind: "directory" });
    box.put(`${outbox}/a.txt`, "");
    box.put("/workspace/outbox/run_2/other.txt", "x");
    expect(await listOutbox(box, outbox, options)).toEqual([
      { path: `${outbox}/a.txt`, bytes: 0 },
      { path: `${outbox}/b/draft.txt`, bytes: 5 },
    ]);
  });

  it("tells at most 50 of at most 1000 entries", async () => {
    for (let i = 0; i < 1200; i += 1) box.put(`${outbox}/f${i}`, "x");
    expect(await listOutbox(box, outbox, options)).toHaveLength(50);
  });

  it("is empty for an outbox that is gone", async () => {
    expect(await listOutbox(box, outbox, options)).toEqual([]);
  });

  it("passes on no path that the box made up", async () => {
    box.put(`${outbox}/a`, "a");
    const entry = box.entry(`${outbox}/a`);
    if (entry === null) throw new Error("no entry");
    const forged = ["/etc/passwd", `${outbox}/../../x`, outbox, `${outbox}//a`, `${outbox}/a`];
    const entries = forged.map((path) => Object.assign({}, entry, { path }));
    box.list = async () => ({ ok: true, truncated: false, entries });
    expect(await listOutbox(box, outbox, options)).toEqual([{ path: `${outbox}/a`, bytes: 1 }]);
  });
});
