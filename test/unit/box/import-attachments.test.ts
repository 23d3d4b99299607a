import { beforeEach, describe, expect, it } from "vitest";
import { openMemoryStores } from "../../../src/adapters/memory/open-memory-stores.js";
import {
  type ImportDeps,
  type ImportRequest,
  importAttachments,
} from "../../../src/box/import-attachments.js";
import { decodeBase64 } from "../../../src/box/measure-base64.js";
import type { Attachment, AttachmentOutcome, AttachmentSource } from "../../../src/domain/attachment.js";
import { ServiceError } from "../../../src/domain/errors.js";
import type { OutboundFetch } from "../../../src/ports/outbound-fetch.js";
import { FakeClock } from "../../fakes/fake-clock.js";
import { proves } from "../../support/proves.js";
import { MemoryBoxFiles } from "./memory-box-files.js";

const INBOX = "/workspace/inbox/run_1";
const LIMITS = { maxFileBytes: 1000, maxFiles: 4, maxTotalBytes: 2500, urlTimeoutMs: 30_000 };
const ENDLESS = new AbortController().signal;

/** Serves pages by URL; an Error is thrown when the page is opened, a number is that many bytes. */
class FakeOutbound implements OutboundFetch {
  readonly opened: string[] = [];
  readonly pages: Record<string, string | number | Error> = {};

  async open(url: string, limits: { readonly maxBytes: number }) {
    this.opened.push(url);
    const page = this.pages[url] ?? new ServiceError("outbound.failed", "The server answered 404.");
    if (page instanceof Error) throw page;
    const bytes = typeof page === "number" ? Buffer.alloc(page) : Buffer.from(page);
    const stream = async function* () {
      for (let offset = 0; offset < bytes.byteLength; offset += 400) {
        if (offset + 400 > limits.maxBytes)
          throw new ServiceError("box.too_large", `It is larger than the limit of ${limits.maxBytes} bytes.`);
        yield bytes.subarray(offset, offset + 400);
      }
    };
    return {
      name: "from-url.csv",
      mimeType: "text/csv",
      bytes: stream(),
      [Symbol.asyncDispose]: async () => {},
    };
  }
}

let box: MemoryBoxFiles;
let outbound: FakeOutbound;
let stores: ReturnType<typeof openMemoryStores>;
let deps: ImportDeps;

beforeEach(() => {
  box = new MemoryBoxFiles();
  outbound = new FakeOutbound();
  stores = openMemoryStores({ clock: new FakeClock() });
  deps = { files: box, blobs: stores.blobs, outbound };
});

const keep = async (content: string | Uint8Array): Promise<AttachmentSource> => {
  await using staging = await stores.blobs.stage();
  await staging.write(typeof content === "string" ? Buffer.from(content) : content);
  return { kind: "blob", ...(await staging.commit()) };
};

const anAttachment = (index: number, change: Partial<Attachment> = {}): Attachment => ({
  reference: `attachment-${index}`,
  type: "file",
  source: "base64",
  url: null,
  id: null,
  name: null,
  mime_type: null,
  size: null,
  path: null,
  ...change,
});

const aRequest = (
  items: readonly (Partial<Attachment> & { readonly from: AttachmentSource })[],
  change: Partial<ImportRequest> = {},
): ImportRequest => ({
  inbox: INBOX,
  attachments: items.map(({ from: _from, ...attachment }, index) => anAttachment(index, attachment)),
  sources: items.map(({ from }) => from),
  outcomes: [],
  limits: LIMITS,
  ...change,
});

const aUrl = (name: string) => ({ from: { kind: "url" as const, url: `https://a.test/${name}` }, name });

const anOutcome = (index: number, path: string): AttachmentOutcome => ({
  index,
  name: "a.txt",
  path,
  bytes: 1,
  mime_type: null,
  state: "pending",
  reason: null,
});

const run = (request: ImportRequest, signal: AbortSignal = ENDLESS) =>
  importAttachments(deps, request, { signal });
const contentOf = (path: string | null) => Buffer.from(box.nodes.get(path ?? "")?.bytes ?? []).toString();

describe("importAttachments", () => {
  it("puts every file at a path of its own, in one request, and tells path, name, size and type", async () => {
    const { outcomes } = await run(
      aRequest([
        { from: await keep("one"), name: "a b c.txt", mime_type: "text/plain" },
        { from: await keep("two"), name: "a b c.txt" },
        { from: await keep("png"), type: "image" },
      ]),
    );
    expect(outcomes).toEqual([
      {
        index: 0,
        name: "a b c.txt",
        path: `${INBOX}/0/a_b_c.txt`,
        bytes: 3,
        mime_type: "text/plain",
        state: "imported",
        reason: null,
      },
      expect.objectContaining({ path: `${INBOX}/1/a_b_c.txt`, state: "imported" }),
      expect.objectContaining({ path: `${INBOX}/2/image_2.png`, name: "image_2.png" }),
    ]);
    expect(outcomes.map(({ path }) => contentOf(path))).toEqual(["one", "two", "png"]);
    expect(box.calls).toEqual(["write 3"]);
  });

  it("does nothing without attachments", async () => {
    expect(await run(aRequest([]))).toEqual({ outcomes: [], sources: [] });
    expect(box.calls).toEqual([]);
  });

  it.each([
    ["../../etc/passwd", "passwd"],
    ["/a/b/c.png", "c.png"],
    ["a b c.txt", "a_b_c.txt"],
    ["", "file_0.bin"],
    ["...", "file_0.bin"],
    ["$(rm -rf /);`id`.txt", "id.txt"],
  ])("names %s safely as %s", async (given, name) => {
    proves("IN-04");
    const { outcomes } = await run(aRequest([{ from: await keep("x"), name: given }]));
    expect(outcomes[0]?.path).toBe(`${INBOX}/0/${name}`);
  });

  it("refuses base64 above the limit of a file, told with size and limit", async () => {
    proves("IN-05");
    const decoded = decodeBase64(Buffer.alloc(1001).toString("base64"), LIMITS.maxFileBytes);
    if (decoded.ok) throw new Error("not refused");
    const { outcomes } = await run(aRequest([{ from: { kind: "refused", ...decoded }, name: "big.bin" }]));
    expect(outcomes[0]).toMatchObject({
      name: "big.bin",
      state: "refused",
      path: null,
      bytes: 1001,
      reason: "It has 1001 bytes; the limit is 1000 bytes per file.",
    });
    expect(box.calls).toEqual([]);
  });

  it("lets one bad file fail alone, whatever is bad about it", async () => {
    const lost = await keep("lost");
    const items = [
      { from: await keep("fine"), name: "fine.txt" },
      { from: await keep(new Uint8Array(1001)), name: "big.bin" },
      { from: lost, name: "lost.txt" },
      { from: await keep("full"), name: "full.txt" },
    ];
    if (lost.kind === "blob") await stores.blobs.remove(lost.sha256);
    box.stuck.add(`${INBOX}/3/full.txt`);
    const { outcomes } = await run(aRequest(items));
    expect(outcomes.map(({ name, state, reason }) => [name, state, reason])).toEqual([
      ["fine.txt", "imported", null],
      ["big.bin", "refused", "It has 1001 bytes; the limit is 1000 bytes per file."],
      ["lost.txt", "refused", "Its bytes are no longer kept."],
      ["full.txt", "refused", "The workspace has no space left."],
    ]);
  });

  it("names limit and use of a workspace that has no room, where the box knows them", async () => {
    box.stuck.add(`${INBOX}/0/full.txt`);
    box.space = "The workspace quota is 1 MiB and 1 MiB are in use.";
    const { outcomes } = await run(aRequest([{ from: await keep("full"), name: "full.txt" }]));
    expect(outcomes).toMatchObject([{ state: "refused", reason: box.space }]);
  });

  it("goes on when the bytes of one file cannot be read", async () => {
    const bad = await keep("bad");
    const { blobs } = stores;
    deps = {
      ...deps,
      blobs: {
        stage: () => blobs.stage(),
        size: (sha256) => blobs.size(sha256),
        list: (before, options) => blobs.list(before, options),
        remove: (sha256) => blobs.remove(sha256),
        read: (sha256, range, options) => {
          if (bad.kind === "blob" && sha256 === bad.sha256) throw new Error("disk");
          return blobs.read(sha256, range, options);
        },
      },
    };
    const { outcomes } = await run(aRequest([{ from: bad }, { from: await keep("good") }]));
    expect(outcomes.map(({ state, reason }) => [state, reason])).toEqual([
      ["refused", "Its bytes could not be read."],
      ["imported", null],
    ]);
    expect([...box.nodes.keys()]).toEqual([`${INBOX}/1/file_1.bin`]);
  });

  it("holds number and sum of the files, in order, before a byte goes to the box", async () => {
    const part = await keep(new Uint8Array(900));
    const small = await keep("s");
    const { outcomes } = await run(
      aRequest([{ from: part }, { from: part }, { from: part }, { from: small }, { from: small }]),
    );
    expect(outcomes.map(({ reason }) => reason)).toEqual([
      null,
      null,
      "With its 900 bytes the run's files have 2700 bytes; the limit is 2500 bytes per run.",
      null,
      "It is file number 5; the limit is 4 files per run.",
    ]);
  });

  it("fetches a URL into the blob store, so that another attempt fetches nothing", async () => {
    outbound.pages["https://a.test/x"] = "fetched";
    const request = aRequest([{ from: { kind: "url", url: "https://a.test/x" } }]);
    const first = await run(request);
    expect(first.outcomes[0]).toMatchObject({
      name: "from-url.csv",
      path: `${INBOX}/0/from-url.csv`,
      mime_type: "text/csv",
      bytes: 7,
    });
    expect(first.sources[0]).toMatchObject({ kind: "blob", sizeBytes: 7 });
    const second = await run({ ...request, inbox: "/workspace/inbox/run_2", sources: first.sources });
    expect(contentOf(second.outcomes[0]?.path ?? null)).toBe("fetched");
    expect(outbound.opened).toHaveLength(1);
  });

  it("tells name and limit of a URL that gives more than its header claims; the others go on", async () => {
    outbound.pages["https://a.test/liar"] = 11_000;
    outbound.pages["https://a.test/refused"] = new ServiceError(
      "outbound.refused",
      "The address is not allowed.",
    );
    outbound.pages["https://a.test/odd"] = new Error("socket with /host/path");
    const { outcomes, sources } = await run(
      aRequest([aUrl("liar"), aUrl("refused"), aUrl("odd"), { from: await keep("x"), name: "x" }]),
    );
    expect(outcomes.map(({ name, reason }) => [name, reason])).toEqual([
      ["liar", "It is larger than the limit of 1000 bytes."],
      ["refused", "The address is not allowed."],
      ["odd", "It could not be fetched."],
      ["x", null],
    ]);
    expect(sources[0]).toEqual({ kind: "url", url: "https://a.test/liar" });
  });

  it("fetches nothing beyond the number of files", async () => {
    const url = { from: { kind: "url" as const, url: "https://a.test/x" } };
    await run(aRequest([url, url, url, url, url]));
    expect(outbound.opened).toHaveLength(4);
  });

  it("gives an attachment imported or refused before the same entry again, and refuses unknown references", async () => {
    proves("IN-07");
    const request = aRequest([{ from: await keep("x") }, { from: await keep("y") }]);
    const first = await run({ ...request, references: ["attachment-0"] });
    expect(first.outcomes.map(({ state }) => state)).toEqual(["imported", "pending"]);
    const again = await run({ ...request, outcomes: first.outcomes, references: ["attachment-0"] });
    expect(again.outcomes).toEqual(first.outcomes);
    expect(box.calls).toEqual(["write 1"]);
    await expect(run({ ...request, references: ["attachment-7"] })).rejects.toThrow(
      /no attachment "attachment-7"/,
    );
    await expect(run({ ...request, references: ["attachment-0", "attachment-0"] })).rejects.toThrow(/twice/);
  });

  it("uses the file of an earlier attempt where it is still there", async () => {
    const source = await keep("x");
    const [kept, gone, forged] = [
      "/workspace/inbox/run_0/0/a.txt",
      "/workspace/inbox/run_0/1/b.txt",
      "/etc/passwd",
    ];
    box.put(kept, "x");
    box.put(forged, "x");
    const { outcomes } = await run(
      aRequest([{ from: source }, { from: source }, { from: source }], {
        outcomes: [anOutcome(0, kept), anOutcome(1, gone), anOutcome(2, forged)],
      }),
    );
    expect(outcomes.map(({ path, state }) => [path, state])).toEqual([
      [kept, "imported"],
      [`${INBOX}/1/file_1.bin`, "imported"],
      [`${INBOX}/2/file_2.bin`, "imported"],
    ]);
  });

  it("never overwrites: a name that is taken is told", async () => {
    box.put(`${INBOX}/0/a.txt`, "old");
    const { outcomes } = await run(aRequest([{ from: await keep("new"), name: "a.txt" }]));
    expect(outcomes[0]?.reason).toBe("A file of that name is there already.");
    expect(contentOf(`${INBOX}/0/a.txt`)).toBe("old");
  });

  it("refuses what has no source, and what the box says nothing good about", async () => {
    const request = aRequest([{ from: await keep("x") }, { from: await keep("y") }]);
    const missing = await run({ ...request, sources: request.sources.slice(0, 1) });
    expect(missing.outcomes.map(({ reason }) => reason)).toEqual([null, "Its source is not known."]);
    box.write = async () => [{ ok: false, fault: "bad_path" }];
    const { outcomes } = await run(request);
    expect(outcomes.map(({ reason }) => reason)).toEqual([
      "The box did not take it.",
      "The box did not take it.",
    ]);
  });

  it("keeps files of one name apart, in one message and over several", async () => {
    proves("IN-11");
    const image = { type: "image" as const, name: "image.png" };
    const first = await run(aRequest([{ ...image, from: await keep("1") }]));
    const second = await run(
      aRequest(
        [
          { ...image, from: await keep("2") },
          { ...image, from: await keep("3") },
        ],
        { inbox: "/workspace/inbox/run_2" },
      ),
    );
    const outcomes = [...first.outcomes, ...second.outcomes];
    expect(new Set(outcomes.map(({ path }) => path)).size).toBe(3);
    expect(outcomes.map(({ name, path }) => [name, contentOf(path)])).toEqual([
      ["image.png", "1"],
      ["image.png", "2"],
      ["image.png", "3"],
    ]);
  });

  it("stores an archive as it is", async () => {
    proves("IN-16");
    // A tar header for ../../escape, a link: what is inside is nobody's business here.
    const archive = Buffer.alloc(1000);
    archive.write("../../escape");
    archive.write("2/etc/passwd", 156);
    const { outcomes } = await run(aRequest([{ from: await keep(archive), name: "slip.tar" }]));
    expect(outcomes[0]?.path).toBe(`${INBOX}/0/slip.tar`);
    expect([...box.nodes.keys()]).toEqual([`${INBOX}/0/slip.tar`]);
    expect(Buffer.from(box.nodes.get(`${INBOX}/0/slip.tar`)?.bytes ?? []).equals(archive)).toBe(true);
  });

  it("keeps every byte", async () => {
    const bytes = Uint8Array.from({ length: 1000 }, (_none, index) => index % 256);
    const { outcomes } = await run(aRequest([{ from: await keep(bytes) }]));
    expect(Uint8Array.from(box.nodes.get(outcomes[0]?.path ?? "")?.bytes ?? [])).toEqual(bytes);
  });

  it("stops with the reason of the abort", async () => {
    const cancel = new AbortController();
    cancel.abort(new Error("cancelled"));
    const url = { from: { kind: "url" as const, url: "https://a.test/x" } };
    await expect(run(aRequest([url]), cancel.signal)).rejects.toThrow("cancelled");
    await expect(run(aRequest([{ from: await keep("x") }]), cancel.signal)).rejects.toThrow("cancelled");
  });

  it("refuses each file with the reason where the box would have to stand still for it and is in use", async () => {
    const write = box.write.bind(box);
    box.write = async () => {
      throw new ServiceError("box.conflict", "Others use the box.");
    };
    const request = aRequest([{ from: await keep("one") }]);
    const { outcomes } = await run(request);
    expect(outcomes).toMatchObject([
      { state: "refused", reason: "Others use the box.", path: null, bytes: 3 },
    ]);
    box.write = async () => {
      throw new ServiceError("box.readiness", "The box does not run.");
    };
    await expect(run(request)).rejects.toMatchObject({ code: "box.readiness" });
    box.write = write;
  });
});
