import { describe, expect, it } from "vitest";
import { MemoryBlobStore } from "../../../src/adapters/memory/memory-blob-store.js";
import { fetchAttachments } from "../../../src/box/fetch-attachments.js";
import { FakeClock } from "../../fakes/fake-clock.js";
import { ENDLESS } from "./box-world.js";

const limits = { maxFileBytes: 100, urlTimeoutMs: 1000 };

describe("fetchAttachments", () => {
  it("fetches a few at a time, each with the limits, and gives everything back", async () => {
    let [open, most, released] = [0, 0, 0];
    const asked: unknown[] = [];
    const outbound = {
      open: async (url: string, given: unknown) => {
        asked.push(given);
        open += 1;
        most = Math.max(most, open);
        const bytes = (async function* () {
          await new Promise<void>((resolve) => void setImmediate(resolve));
          yield Buffer.from(url);
        })();
        const release = async () => {
          open -= 1;
          released += 1;
        };
        return { name: null, mimeType: null, bytes, [Symbol.asyncDispose]: release };
      },
    };
    const blobs = new MemoryBlobStore({ clock: new FakeClock() });
    const items = Array.from({ length: 10 }, (_none, index) => ({
      index,
      source: { kind: "url" as const, url: `https://a.test/${index}` },
    }));
    const settled = await fetchAttachments({ blobs, outbound }, { items, limits }, ENDLESS);
    expect(settled.map(({ item }) => item)).toEqual(items);
    expect(settled.map(({ fetched }) => fetched.source.kind)).toEqual(Array(10).fill("blob"));
    expect([most, released, open]).toEqual([4, 10, 0]);
    expect(asked[0]).toEqual({ maxBytes: 100, timeoutMs: 1000 });
  });

  it("leaves alone what needs no fetching", async () => {
    const blobs = new MemoryBlobStore({ clock: new FakeClock() });
    const outbound = {
      open: () => {
        throw new Error("asked");
      },
    };
    const source = { kind: "refused" as const, reason: "why", sizeBytes: null };
    const items = [{ index: 0, source }];
    expect(await fetchAttachments({ blobs, outbound }, { items, limits }, ENDLESS)).toEqual([
      { item: items[0], fetched: { source, name: null, mimeType: null } },
    ]);
  });
});
