import { describe, expect, it } from "vitest";
import { McpConnection } from "../../../../src/adapters/mcp/connection.js";
import { httpTransport } from "../../../../src/adapters/mcp/http-transport.js";
import type { OutboundHttp } from "../../../../src/ports/outbound-http.js";

const { signal } = new AbortController();

/** Answers the first request with a body that goes on as long as it is read. */
function flood(contentType: string, piece: string): OutboundHttp & { sent: number } {
  const http = {
    sent: 0,
    request: async () => {
      const bytes = new TextEncoder().encode(piece);
      const body = new ReadableStream<Uint8Array>({
        pull: (controller) => {
          http.sent += bytes.length;
          if (http.sent > 64 * 1024 * 1024) controller.close();
          else controller.enqueue(bytes);
        },
      });
      return new Response(body, { status: 200, headers: { "content-type": contentType } });
    },
  };
  return http;
}

describe("httpTransport", () => {
  it("stops reading an answer that is larger than a message may be", async () => {
    const http = flood("application/json", " ".repeat(1024 * 1024));
    const transport = httpTransport({ url: "http://x.test/mcp", headers: {} }, http);
    await expect(McpConnection.open(transport, { version: "1" }, { signal })).rejects.toThrow(
      "sent more than 8388608 bytes in one message",
    );
    expect(http.sent).toBeLessThan(16 * 1024 * 1024);
  });

  it("stops reading an answer that costs too much to read, as one or as events", async () => {
    for (const type of ["application/json", "text/event-stream"]) {
      const http = flood(type, "[],".repeat(100_000));
      const transport = httpTransport({ url: "http://x.test/mcp", headers: {} }, http);
      const opening = McpConnection.open(transport, { version: "1" }, { signal: AbortSignal.timeout(500) });
      await expect(opening).rejects.toThrow(/200000 values|timeout/);
      expect(http.sent).toBeLessThan(8 * 1024 * 1024);
    }
  });
});
