/** The way to an MCP server over streamable HTTP: the SDK's transport over requests that are guarded and answers that are bounded. */
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ServiceError } from "../../domain/errors.js";
import { endsWithin } from "../../lib/delay.js";
import { JsonCost } from "../../lib/json-cost.js";
import type { OutboundHttp } from "../../ports/outbound-http.js";
import { MAX_MESSAGE_BYTES, MESSAGE_LIMITS } from "./limits.js";
import type { HttpServer } from "./settings.js";

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

export function httpTransport(
  { url, headers }: Pick<HttpServer, "url" | "headers">,
  http: OutboundHttp,
): StreamableHTTPClientTransport {
  return new LeavingTransport(new URL(url), {
    requestInit: { headers },
    fetch: boundedFetch(http),
  });
}

/** Milliseconds that a server gets to hear of the end of its session. */
const LEAVE_MS = 1000;

/** Tells the server that its session is over; one that does not listen forgets it by itself. */
class LeavingTransport extends StreamableHTTPClientTransport {
  override async close(): Promise<void> {
    await endsWithin(this.terminateSession(), LEAVE_MS);
    await super.close();
  }
}

const UNHURRIED = new AbortController().signal;

function boundedFetch(http: OutboundHttp): Fetch {
  return async (url, init = {}) => {
    const { method = "GET", body, signal } = init;
    const request = {
      method,
      headers: Object.fromEntries(new Headers(init.headers)),
      body: typeof body === "string" ? body : null,
    };
    const response = await http.request(String(url), request, { signal: signal ?? UNHURRIED });
    if (response.body === null) return response;
    const { status, headers } = response;
    return new Response(response.body.pipeThrough(boundEvents()), { status, headers });
  };
}

/** An answer may go on for ever, but no event of it, which an empty line ends. */
function boundEvents(): TransformStream<Uint8Array, Uint8Array> {
  const END = 0x0a;
  const cost = new JsonCost(MESSAGE_LIMITS);
  let open = 0;
  let atLineStart = false;
  const take = (byte: number): void => {
    if (byte === END && atLineStart) {
      open = 0;
      cost.reset();
    } else {
      open += 1;
      cost.add(byte);
    }
    atLineStart = byte === END || (atLineStart && byte === 0x0d);
  };
  return new TransformStream({
    transform(bytes, controller) {
      try {
        for (const byte of bytes) take(byte);
        if (open <= MAX_MESSAGE_BYTES) controller.enqueue(bytes);
        else controller.error(tooMuch(`${MAX_MESSAGE_BYTES} bytes`));
      } catch (error) {
        controller.error(
          tooMuch(`${MESSAGE_LIMITS.maxValues} values or ${MESSAGE_LIMITS.maxDepth} levels`, error),
        );
      }
    },
  });
}

function tooMuch(limit: string, cause?: unknown): ServiceError {
  return new ServiceError("outbound.failed", `The MCP server sent more than ${limit} in one message.`, {
    cause,
  });
}
