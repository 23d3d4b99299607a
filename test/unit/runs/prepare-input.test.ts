import { beforeEach, describe, expect, it } from "vitest";
import { openMemoryStores } from "../../../src/adapters/memory/open-memory-stores.js";
import { type GivenInput, prepareInput } from "../../../src/runs/prepare-input.js";
import type { IncomingContent, IncomingSource } from "../../../src/runs/run-request.js";
import { FakeClock } from "../../fakes/fake-clock.js";
import { proves } from "../../support/proves.js";
import { aFile } from "../../support/records.js";
import { NEVER, sniffByName } from "../../support/run-world.js";

const base64 = (text: string): IncomingSource => ({
  kind: "base64",
  data: Buffer.from(text).toString("base64"),
});

function anAttachment(source: IncomingSource, fields: object = {}): IncomingContent {
  return { type: "attachment", kind: "file", name: "table.csv", mimeType: null, source, ...fields };
}

describe("prepareInput", () => {
  let stores = openMemoryStores({ clock: new FakeClock() });

  beforeEach(() => {
    stores = openMemoryStores({ clock: new FakeClock() });
  });

  const prepare = (contents: readonly IncomingContent[], text: string | null = null) =>
    prepareAll({ contents, text });
  const prepareAll = (given: Partial<GivenInput>) =>
    prepareInput(
      { ...stores, sniffMimeType: sniffByName, maxFileBytes: 10 },
      { tenant: "main", text: null, contents: [], ...given },
      { signal: NEVER },
    );
  const bytesOf = async (sha256: string): Promise<string> => {
    const parts: Uint8Array[] = [];
    for await (const part of stores.blobs.read(sha256, null, { signal: NEVER })) parts.push(part);
    return Buffer.concat(parts).toString();
  };

  it("keeps texts and attachments in their order, with references for the latter", async () => {
    const contents = [
      { type: "text" as const, text: "See" },
      anAttachment(base64("a")),
      { type: "text" as const, text: "and" },
      anAttachment({ kind: "url", url: "https://example.com/b.png" }, { kind: "image", name: null }),
    ];
    const { input } = await prepare(contents, "Hello");
    expect(input.text).toBe("Hello");
    expect(input.contents).toEqual([
      { type: "text", text: "See" },
      { type: "attachment", reference: "attachment-0" },
      { type: "text", text: "and" },
      { type: "attachment", reference: "attachment-1" },
    ]);
    expect(input.attachments.map(({ reference, type }) => [reference, type])).toEqual([
      ["attachment-0", "file"],
      ["attachment-1", "image"],
    ]);
  });

  it("moves inline bytes to the blob store and keeps none of them in what is stored with the run", async () => {
    const prepared = await prepare([anAttachment(base64("12345"))]);
    const [source] = prepared.sources;
    expect(source).toMatchObject({ kind: "blob", sizeBytes: 5 });
    expect(source?.kind === "blob" && (await bytesOf(source.sha256))).toBe("12345");
    expect(JSON.stringify(prepared)).not.toContain(Buffer.from("12345").toString("base64"));
    expect(prepared.outcomes).toEqual([
      {
        index: 0,
        name: "table.csv",
        path: null,
        bytes: 5,
        mime_type: "text/plain",
        state: "pending",
        reason: null,
      },
    ]);
  });

  it.each([null, "application/octet-stream"])(
    "asks the bytes where the type given is %o",
    async (mimeType) => {
      const contents = [
        anAttachment(base64("1"), { mimeType, name: "a.png" }),
        anAttachment(base64(""), { mimeType, name: null }),
        anAttachment({ kind: "url", url: "https://example.com/a.png" }, { mimeType }),
      ];
      const { outcomes } = await prepare(contents);
      expect(outcomes.map(({ mime_type }) => mime_type)).toEqual([
        "image/png",
        "application/octet-stream",
        mimeType,
      ]);
    },
  );

  it("takes the type from a data URI that says it", async () => {
    const data = "data:text/plain;base64,MTIz";
    const { input, outcomes } = await prepare([anAttachment({ kind: "base64", data })]);
    expect([input.attachments[0]?.mime_type, outcomes[0]?.mime_type]).toEqual(["text/plain", "text/plain"]);
    const stated = await prepare([anAttachment({ kind: "base64", data }, { mimeType: "text/csv" })]);
    expect(stated.outcomes[0]?.mime_type).toBe("text/csv");
  });

  it.each([
    {
      what: "above the limit",
      source: base64("12345678901"),
      reason: "It has 11 bytes; the limit is 10 bytes per file.",
      sizeBytes: 11,
    },
    {
      what: "that is no base64",
      source: { kind: "base64", data: "%%%" } as const,
      reason: "Its data is not valid base64.",
      sizeBytes: null,
    },
  ])("refuses a file $what by itself; the message goes on", async ({ source, reason, sizeBytes }) => {
    const prepared = await prepare([anAttachment(source), anAttachment(base64("ok"))]);
    expect(prepared.outcomes.map(({ state }) => state)).toEqual(["refused", "pending"]);
    expect(prepared.outcomes[0]).toMatchObject({ reason, bytes: sizeBytes });
    expect(prepared.sources[0]).toEqual({ kind: "refused", reason, sizeBytes });
  });

  it("uses an uploaded file, with its name and type where the message says none", async () => {
    await stores.files.register([aFile({ runId: null, name: "up.csv", mimeType: "text/csv" })]);
    const source = { kind: "file", fileId: "file_1" } as const;
    const prepared = await prepare([
      anAttachment(source, { name: null }),
      anAttachment(source, { mimeType: "text/plain" }),
    ]);
    expect(
      prepared.input.attachments.map(({ id, name, mime_type, source: from }) => [id, name, mime_type, from]),
    ).toEqual([
      ["file_1", "up.csv", "text/csv", "upload"],
      ["file_1", "table.csv", "text/plain", "upload"],
    ]);
    expect(prepared.sources[0]).toEqual({ kind: "blob", sha256: "a".repeat(64), sizeBytes: 1234 });
  });

  it.each(["file_2", "file_3"] as const)(
    "refuses a file id that is not one of the tenant: %s",
    async (fileId) => {
      await stores.files.register([aFile({ id: "file_2", tenant: "other", runId: null })]);
      await expect(prepare([anAttachment({ kind: "file", fileId })])).rejects.toMatchObject({
        code: "file.not_found",
        message: `There is no file "${fileId}".`,
        param: "input.contents",
      });
    },
  );

  it("fetches nothing: a URL stays a URL until the import", async () => {
    const url = "https://example.com/a.csv";
    const prepared = await prepare([anAttachment({ kind: "url", url })]);
    expect(prepared.sources).toEqual([{ kind: "url", url }]);
    expect(prepared.input.attachments[0]).toMatchObject({ source: "url", url, size: null });
    expect(prepared.outcomes[0]).toMatchObject({ state: "pending", bytes: null });
  });

  it("takes a part that is in the blob store already", async () => {
    await using staging = await stores.blobs.stage();
    await staging.write(Buffer.from("1234567"));
    const source = { kind: "blob" as const, ...(await staging.commit()) };
    const prepared = await prepare([anAttachment(source)]);
    expect(prepared.sources).toEqual([source]);
    expect(prepared.input.attachments[0]).toMatchObject({ source: "upload", size: 7, id: null, url: null });
  });

  it("takes no path from outside", async () => {
    const source = { kind: "url", url: "https://example.com/a" } as const;
    const { input, outcomes } = await prepare([anAttachment(source, { path: "/etc/passwd" })]);
    expect([input.attachments[0]?.path, outcomes[0]?.path]).toEqual([null, null]);
  });

  it("shows a name on one line and without directories, and a fallback for none", async () => {
    const { outcomes } = await prepare([
      anAttachment(base64("a"), { name: "../../x\ny.txt" }),
      anAttachment(base64("a"), { name: null, kind: "image" }),
    ]);
    expect(outcomes.map(({ name }) => name)).toEqual(["xy.txt", "image_1.png"]);
  });

  it("gives an empty input for an empty message", async () => {
    expect(await prepare([])).toEqual({
      input: { text: null, contents: [], attachments: [] },
      outcomes: [],
      sources: [],
    });
  });

  it("makes one entry of an image that is in the message chain and in the contents, with its content at hand", async () => {
    proves("CTX-08");
    const image = { kind: "image", name: "a.png" };
    const { input, outcomes, sources } = await prepareAll({
      contents: [anAttachment(base64("pixels"), image)],
      messageChain: [{ type: "text", text: "See" }, anAttachment(base64("pixels"), image)],
    });
    expect(input.attachments).toMatchObject([
      { reference: "attachment-0", type: "image", source: "base64", mime_type: "image/png", path: null },
    ]);
    expect(input.contents).toEqual([
      { type: "attachment", reference: "attachment-0" },
      { type: "text", text: "See" },
    ]);
    expect(outcomes).toMatchObject([{ index: 0, state: "pending", bytes: 6 }]);
    const [source] = sources;
    expect(sources).toHaveLength(1);
    expect(source?.kind === "blob" && (await bytesOf(source.sha256))).toBe("pixels");
  });

  it("keeps the same file twice from one source as two", async () => {
    const twice = [anAttachment(base64("a")), anAttachment(base64("a"))];
    expect((await prepare(twice)).sources).toHaveLength(2);
    expect((await prepareAll({ messageChain: twice })).sources).toHaveLength(2);
    expect((await prepareAll({ contents: twice, messageChain: twice })).sources).toHaveLength(2);
  });

  it("takes the content of a file from the source that has it, and the name from the one that says it", async () => {
    await using file = await stores.blobs.stage();
    await file.write(Buffer.from("abc"));
    const { sha256, sizeBytes } = await file.commit();
    await stores.files.register([aFile({ id: "file_9", sha256, sizeBytes, name: "report.csv" })]);
    const { input, sources } = await prepareAll({
      contents: [anAttachment({ kind: "url", url: "https://example.com/a" }, { name: null })],
      messageChain: [anAttachment({ kind: "url", url: "https://example.com/a" }, { name: "a.csv" })],
    });
    expect(input.attachments).toMatchObject([{ url: "https://example.com/a", name: "a.csv" }]);
    expect(sources).toEqual([{ kind: "url", url: "https://example.com/a" }]);
    const both = await prepareAll({
      contents: [anAttachment(base64("abc"), { name: null })],
      messageChain: [anAttachment({ kind: "file", fileId: "file_9" }, { name: null })],
    });
    expect(both.input.attachments).toMatchObject([{ id: "file_9", source: "base64", name: "report.csv" }]);
  });

  it("takes the words of the chain only where text and contents say none", async () => {
    const messageChain: IncomingContent[] = [{ type: "text", text: "chain" }];
    expect((await prepareAll({ messageChain })).input.contents).toEqual(messageChain);
    expect((await prepareAll({ messageChain, text: "" })).input.contents).toEqual([]);
    const contents: IncomingContent[] = [{ type: "text", text: "own" }];
    expect((await prepareAll({ messageChain, contents })).input.contents).toEqual(contents);
  });
});
