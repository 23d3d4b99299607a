/** A network of pages by URL; what is not among them answers 404. */
import { ServiceError } from "../../src/domain/errors.js";
import type { CallOptions } from "../../src/ports/options.js";
import type { OutboundFetch, OutboundFile } from "../../src/ports/outbound-fetch.js";

export class FakeOutboundFetch implements OutboundFetch {
  readonly opened: string[] = [];
  readonly pages: Map<string, Uint8Array | Error>;
  /** Files that were opened and not yet disposed of. */
  openFiles = 0;

  constructor(pages: Readonly<Record<string, Uint8Array | Error>> = {}) {
    this.pages = new Map(Object.entries(pages));
  }

  async open(
    url: string,
    limits: { readonly maxBytes: number; readonly timeoutMs: number },
    { signal }: CallOptions,
  ): Promise<OutboundFile> {
    signal.throwIfAborted();
    this.opened.push(url);
    const page = this.pages.get(url) ?? new ServiceError("outbound.failed", "The server answered 404.");
    if (page instanceof Error) throw page;
    this.openFiles += 1;
    return {
      name: new URL(url).pathname.split("/").at(-1) ?? null,
      mimeType: null,
      bytes: boundedStream(page, limits.maxBytes),
      [Symbol.asyncDispose]: async () => {
        this.openFiles -= 1;
      },
    };
  }
}

async function* boundedStream(bytes: Uint8Array, maxBytes: number): AsyncGenerator<Uint8Array, void> {
  for (let offset = 0; offset < bytes.byteLength; offset += 1024) {
    const piece = bytes.subarray(offset, offset + 1024);
    if (offset + piece.byteLength > maxBytes)
      throw new ServiceError("box.too_large", `It is larger than the limit of ${maxBytes} bytes.`);
    yield piece;
  }
}
