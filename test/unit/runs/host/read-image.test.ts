import { beforeEach, describe, expect, it } from "vitest";
import { openMemoryStores } from "../../../../src/adapters/memory/open-memory-stores.js";
import type { Attachment, AttachmentSource } from "../../../../src/domain/attachment.js";
import { ServiceError } from "../../../../src/domain/errors.js";
import type { ImageBytes } from "../../../../src/ports/run-host.js";
import { readImage } from "../../../../src/runs/host/read-image.js";
import { FakeClock } from "../../../fakes/fake-clock.js";
import { FakeOutboundFetch } from "../../../fakes/fake-outbound-fetch.js";
import { NEVER, sniffByName } from "../../../support/run-world.js";

const URL = "https://example.com/a.png";
const attachment: Attachment = {
  reference: "attachment-0",
  type: "image",
  source: "url",
  url: null,
  id: null,
  name: "a.png",
  mime_type: null,
  size: null,
  path: null,
};

describe("readImage", () => {
  let stores = openMemoryStores({ clock: new FakeClock() });
  let outbound = new FakeOutboundFetch();

  beforeEach(() => {
    stores = openMemoryStores({ clock: new FakeClock() });
    outbound = new FakeOutboundFetch();
  });

  const read = (
    source: AttachmentSource,
    fields: { maxBytes?: number; name?: string; signal?: AbortSignal } = {},
  ): Promise<ImageBytes | null> => {
    const { maxBytes = 100, name = "a.png", signal = NEVER } = fields;
    const deps = { ...stores, outbound, sniffMimeType: sniffByName };
    return readImage(deps, { attachment: { ...attachment, name }, source, maxBytes }, { signal });
  };
  const store = async (text: string): Promise<AttachmentSource> => {
    await using staging = await stores.blobs.stage();
    await staging.write(Buffer.from(text));
    const blob = await staging.commit();
    return { kind: "blob", ...blob };
  };

  it("gives the bytes of a stored image, with the type that they have", async () => {
    expect(await read(await store("pixels"))).toEqual({
      mimeType: "image/png",
      base64: Buffer.from("pixels").toString("base64"),
      sizeBytes: 6,
    });
  });

  it("gives the bytes of an image at a URL, and closes what it opened", async () => {
    outbound.pages.set(URL, Buffer.from("pixels"));
    expect(await read({ kind: "url", url: URL })).toMatchObject({ sizeBytes: 6 });
    expect(outbound.openFiles).toBe(0);
  });

  it("gives nothing above the limit, and reads no more than that", async () => {
    expect(await read(await store("pixels"), { maxBytes: 5 })).toBeNull();
    outbound.pages.set(URL, Buffer.alloc(101));
    expect(await read({ kind: "url", url: URL })).toBeNull();
    expect(outbound.openFiles).toBe(0);
  });

  it("gives nothing of what is no image by its bytes", async () => {
    expect(await read(await store("text"), { name: "a.txt" })).toBeNull();
  });

  it("gives nothing of an attachment that was refused, or whose bytes are not kept any more", async () => {
    expect(await read({ kind: "refused", reason: "too large", sizeBytes: 9 })).toBeNull();
    expect(await read({ kind: "blob", sha256: "a".repeat(64), sizeBytes: 6 })).toBeNull();
  });

  it.each([
    new ServiceError("outbound.refused", "Private address."),
    new ServiceError("outbound.failed", "No answer."),
  ])("gives nothing where the address cannot be had: $code", async (error) => {
    outbound.pages.set(URL, error);
    expect(await read({ kind: "url", url: URL })).toBeNull();
  });

  it("lets an unexpected failure through", async () => {
    outbound.pages.set(URL, new Error("broken"));
    await expect(read({ kind: "url", url: URL })).rejects.toThrow("broken");
  });

  it("ends with the signal's reason", async () => {
    const signal = AbortSignal.abort(new Error("stopped"));
    await expect(read({ kind: "url", url: URL }, { signal })).rejects.toThrow("stopped");
    await expect(read(await store("pixels"), { signal })).rejects.toThrow("stopped");
  });
});
