/** What every store of file records promises (box §9, api §3, ports/file-store.ts). */
import { describe, expect, it } from "vitest";
import type { FileStore } from "../../src/ports/file-store.js";
import type { RunStore } from "../../src/ports/run-store.js";
import type { Opened } from "../support/opened.js";
import { aFile, anOutcome, aRun } from "../support/records.js";

/** Both stores of one database: bytes are also needed by attachments of its runs. */
export interface FileStoreAndRuns {
  readonly files: FileStore;
  readonly runs: RunStore;
}

type Make = () => Promise<Opened<FileStoreAndRuns>>;

export function describeFileStore(name: string, make: Make): void {
  describe(`FileStore of ${name}`, () => {
    describeRegistration(make);
    describeListing(make);
    describeNeed(make);
  });
}

function describeRegistration(make: Make): void {
  it("gives a record back as it was registered", async () => {
    await using store = await make();
    const upload = aFile({ id: "file_2", runId: null, sourcePath: null, name: "报告.pdf", kind: "file" });
    await store.it.files.register([aFile(), upload]);
    expect(await store.it.files.get("main", "file_1")).toEqual(aFile());
    expect(await store.it.files.get("main", "file_2")).toEqual(upload);
    await expect(store.it.files.register([])).resolves.toBeUndefined();
  });

  it("registers all records or none", async () => {
    await using store = await make();
    await store.it.files.register([aFile()]);
    await expect(store.it.files.register([aFile({ id: "file_2" }), aFile()])).rejects.toThrow(
      /already|unique/i,
    );
    expect(await store.it.files.get("main", "file_2")).toBeNull();
    await expect(store.it.files.register([aFile({ id: "file_3" }), aFile({ id: "file_3" })])).rejects.toThrow(
      /already|unique/i,
    );
    expect(await store.it.files.get("main", "file_3")).toBeNull();
  });

  it("knows no file of another tenant and removes none", async () => {
    await using store = await make();
    await store.it.files.register([aFile()]);
    expect(await store.it.files.get("other", "file_1")).toBeNull();
    expect(await store.it.files.remove("other", "file_1")).toBe(false);
    expect(await store.it.files.listByRun("other", "run_1")).toEqual([]);
    expect(await store.it.files.remove("main", "file_1")).toBe(true);
    expect(await store.it.files.remove("main", "file_1")).toBe(false);
    expect(await store.it.files.get("main", "file_1")).toBeNull();
  });

  it("changes the state of one file", async () => {
    await using store = await make();
    await store.it.files.register([aFile(), aFile({ id: "file_2" })]);
    await store.it.files.setState("file_1", "acked");
    expect(await store.it.files.get("main", "file_1")).toEqual(aFile({ state: "acked" }));
    expect(await store.it.files.get("main", "file_2")).toEqual(aFile({ id: "file_2" }));
  });

  it("changes a state only from the one that is named, if one is", async () => {
    await using store = await make();
    await store.it.files.register([aFile()]);
    await store.it.files.setState("file_1", "sent", "pending");
    expect(await store.it.files.get("main", "file_1")).toEqual(aFile({ state: "sent" }));
    await store.it.files.setState("file_1", "failed");
    await store.it.files.setState("file_1", "sent", "pending");
    expect(await store.it.files.get("main", "file_1")).toEqual(aFile({ state: "failed" }));
  });
}

function describeListing(make: Make): void {
  it("lists the deliveries of a run in order of export", async () => {
    await using store = await make();
    await store.it.files.register([aFile({ id: "file_c" }), aFile({ id: "file_a" })]);
    await store.it.files.register([aFile({ id: "file_x", runId: "run_2" })]);
    await store.it.files.register([aFile({ id: "file_b" })]);
    const files = await store.it.files.listByRun("main", "run_1");
    expect(files.map(({ id }) => id)).toEqual(["file_c", "file_a", "file_b"]);
  });

  it("lists a tenant's files page by page, newest first, also by purpose", async () => {
    await using store = await make();
    await store.it.files.register([
      aFile({ id: "file_c" }),
      aFile({ id: "file_a", purpose: "user_data" }),
      aFile({ id: "file_b" }),
      aFile({ id: "file_x", tenant: "other" }),
    ]);
    const list = async (page: Parameters<FileStore["list"]>[1]) =>
      (await store.it.files.list("main", page)).map(({ id }) => id);
    expect(await list({ limit: 2 })).toEqual(["file_b", "file_a"]);
    expect(await list({ limit: 2, after: "file_a" })).toEqual(["file_c"]);
    expect(await list({ limit: 2, after: "file_x" })).toEqual([]);
    expect(await list({ limit: 9, purpose: "delivery" })).toEqual(["file_b", "file_c"]);
    expect(await list({ limit: 9, purpose: "delivery", after: "file_b" })).toEqual(["file_c"]);
  });

  it("lists the records of all tenants that are older than the retention, oldest first", async () => {
    await using store = await make();
    await store.it.files.register([
      aFile({ id: "file_1", createdAt: 1_000 }),
      aFile({ id: "file_2", createdAt: 2_000, tenant: "other" }),
      aFile({ id: "file_3", createdAt: 3_000 }),
    ]);
    const old = async (limit: number) =>
      (await store.it.files.listOlderThan(3_000, limit)).map(({ id }) => id);
    expect(await old(9)).toEqual(["file_1", "file_2"]);
    expect(await old(1)).toEqual(["file_1"]);
  });
}

function describeNeed(make: Make): void {
  const sha256 = "f".repeat(64);

  it("needs bytes as long as a record of any tenant has them", async () => {
    await using store = await make();
    await store.it.files.register([aFile({ sha256 }), aFile({ id: "file_2", tenant: "other", sha256 })]);
    expect(await store.it.files.isReferenced(sha256)).toBe(true);
    await store.it.files.remove("main", "file_1");
    expect(await store.it.files.isReferenced(sha256)).toBe(true);
    await store.it.files.remove("other", "file_2");
    expect(await store.it.files.isReferenced(sha256)).toBe(false);
  });

  it("needs the bytes of a stored run's attachments until they are released", async () => {
    await using store = await make();
    const attachments = [
      {
        index: 0,
        name: "table.csv",
        path: null,
        bytes: 1,
        mime_type: null,
        state: "pending" as const,
        reason: null,
      },
    ];
    const attachmentSources = [{ kind: "blob" as const, sha256, sizeBytes: 1 }];
    await store.it.runs.create(aRun({ attachments, attachmentSources }));
    expect(await store.it.files.isReferenced(sha256)).toBe(true);
    await store.it.runs.finish("run_1", anOutcome({ attachments }), () => ({
      type: "run.completed",
      data: {},
      timestamp: "2026-01-01T00:00:00.000Z",
    }));
    expect(await store.it.files.isReferenced(sha256)).toBe(true);
    await store.it.runs.releaseAttachments(2_000, "Old.", 9);
    expect(await store.it.files.isReferenced(sha256)).toBe(false);
  });
}
