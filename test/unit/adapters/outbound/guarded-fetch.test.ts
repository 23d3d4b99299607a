import { readFileSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import type { Resolve } from "../../../../src/adapters/outbound/check-target.js";
import { GuardedFetch, type GuardedFetchDeps } from "../../../../src/adapters/outbound/guarded-fetch.js";
import { ServiceError } from "../../../../src/domain/errors.js";

const caseSchema = z.object({
  id: z.string(),
  url: z.string(),
  resolve: z.array(z.string()).optional(),
  block: z.boolean(),
});
const { cases } = z
  .object({ cases: z.array(caseSchema) })
  .parse(JSON.parse(readFileSync(new URL("../../../fixtures/ssrf-cases.json", import.meta.url), "utf8")));

const LIMITS = { maxBytes: 10_000, timeoutMs: 1000 };
const ENDLESS = new AbortController().signal;

let server: Server;
let port: number;
let connections = 0;
let requested: string[] = [];
let answer: RequestListener = (_request, response) => void response.end("hello");

beforeEach(async () => {
  connections = 0;
  requested = [];
  answer = (_request, response) => void response.end("hello");
  server = createServer((request, response) => {
    requested.push(request.url ?? "");
    answer(request, response);
  });
  server.on("connection", () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  port = typeof address === "object" && address !== null ? address.port : 0;
});

afterEach(async () => {
  server.closeAllConnections();
  await new Promise<void>((resolve) => void server.close(() => resolve()));
});

const loopback: Resolve = async () => ["127.0.0.1"];

/** Fetches through names that lead to the test's server. */
const listed = (change: Partial<GuardedFetchDeps> = {}) =>
  new GuardedFetch({ allowedPrivateHosts: ["good.test"], resolve: loopback, ...change });

const read = async (
  fetch: GuardedFetch,
  url: string,
  { limits = LIMITS, signal = ENDLESS } = {},
): Promise<string> => {
  await using file = await fetch.open(url, limits, { signal });
  const pieces: Uint8Array[] = [];
  for await (const piece of file.bytes) pieces.push(piece);
  return Buffer.concat(pieces).toString();
};

const failure = async (work: Promise<unknown>): Promise<ServiceError> => {
  try {
    await work;
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
  throw new Error("It did not fail.");
};

const redirect =
  (location: string): RequestListener =>
  (_request, response) =>
    void response.writeHead(302, { location }).end();
const unknown: Resolve = async () => {
  throw new Error("ENOTFOUND internal.corp");
};
const listing = (...allowedPrivateHosts: string[]) => listed({ allowedPrivateHosts });
const silent: RequestListener = () => {};
const never: Resolve = () => new Promise(() => {});

const good = (path = "/") => `http://good.test:${port}${path}`;

describe("addresses", () => {
  it.each(cases.filter(({ block }) => block))("sends nothing for $id", async ({ id, url, resolve = [] }) => {
    const answers = resolve.values();
    const fetch = new GuardedFetch({
      allowedPrivateHosts: [],
      resolve:
        id === "localhost" || id === "localhostdot"
          ? loopback
          : async () => (answers.next().value ?? "").split(",").filter(Boolean),
    });
    const limits = { maxBytes: 1000, timeoutMs: 150 };
    const error = await failure(read(fetch, url.replaceAll("{P}", String(port)), { limits }));
    // The name that answers another address the second time is asked once: the checked address is connected to.
    expect(error.code).toBe(id === "rebind" ? "outbound.failed" : "outbound.refused");
    expect(connections).toBe(0);
  });

  it("refuses every class in the same words, and a name that does not resolve, too", async () => {
    const fetch = new GuardedFetch({ allowedPrivateHosts: [], resolve: unknown });
    const errors = await Promise.all(
      ["http://nowhere.test/", "http://10.0.0.1/", "ftp://x/", "http://u:p@good.test/"].map((url) =>
        failure(read(fetch, url)),
      ),
    );
    expect(new Set(errors.map(({ message }) => message)).size).toBe(1);
  });

  it("keeps what stays percent-encoded in the request line", async () => {
    expect(await read(listed(), good("/%0d%0aX-Injected:1?a=b#frag"))).toBe("hello");
    expect(requested).toEqual(["/%0d%0aX-Injected:1?a=b"]);
  });

  it("lets a listed host or host and port through, and no other", async () => {
    expect(await read(listing(`127.0.0.1:${port}`), `http://127.0.0.1:${port}/`)).toBe("hello");
    expect(await read(listing(`GOOD.test:${port}`), good())).toBe("hello");
    expect(await read(listing("good.test."), good())).toBe("hello");
    expect((await failure(read(listing(`good.test:${port + 1}`), good()))).code).toBe("outbound.refused");
    expect((await failure(read(listing("od.test", "x.good.test", "::1"), good()))).code).toBe(
      "outbound.refused",
    );
    expect((await failure(read(listing("good.test"), "http://good.test:22/"))).code).toBe("outbound.refused");
  });

  it("looks a name up once and connects to the address it checked", async () => {
    const asked: string[] = [];
    const resolve: Resolve = async (name) => {
      asked.push(name);
      return ["127.0.0.1"];
    };
    await read(listed({ resolve }), good());
    expect(asked).toEqual(["good.test"]);
  });

  it("uses the system's resolver where none is given", async () => {
    const fetch = new GuardedFetch({ allowedPrivateHosts: ["localhost"] });
    server.closeAllConnections();
    expect(await read(fetch, `http://localhost:${port}/`)).toBe("hello");
  });
});

describe("redirects", () => {
  it("follows at most three, relative ones too", async () => {
    answer = (request, response) => {
      const hop = Number(request.url?.slice(1) ?? 0);
      if (hop < 3) response.writeHead(307, { location: `/${hop + 1}` }).end();
      else response.end("there");
    };
    expect(await read(listed(), good("/0"))).toBe("there");
    answer = (request, response) =>
      void response.writeHead(301, { location: `/${Number(request.url?.slice(1)) + 1}` }).end();
    const error = await failure(read(listed(), good("/0")));
    expect([error.code, error.message]).toEqual([
      "outbound.failed",
      "The server redirected more than 3 times.",
    ]);
  });

  it.each([
    "http://127.0.0.1:{P}/secret",
    "http://[::1]/",
    "http://169.254.169.254/",
    "file:///etc/passwd",
    "//u:p@good.test",
  ])("checks each hop like the first address: %s", async (location) => {
    answer = redirect(location.replace("{P}", String(port)));
    expect((await failure(read(listed(), good("/start")))).code).toBe("outbound.refused");
    expect(requested).toEqual(["/start"]);
  });

  it("carries no credentials anywhere", async () => {
    const headers: string[] = [];
    answer = (request, response) => {
      headers.push(...Object.keys(request.headers));
      response.end();
    };
    await read(listed(), good());
    expect(headers.toSorted()).toEqual(["accept", "accept-encoding", "connection", "host", "user-agent"]);
  });
});

describe("bytes", () => {
  it("stops at the limit, whatever the length header claims or leaves out", async () => {
    answer = (_request, response) => void response.writeHead(200, { "content-length": "20000" }).end();
    expect(await failure(read(listed(), good()))).toMatchObject({
      code: "box.too_large",
      message: "It has 20000 bytes; the limit is 10000 bytes per file.",
    });
    answer = (_request, response) => {
      const flood = setInterval(() => response.write(Buffer.alloc(4000)), 1);
      response.on("close", () => clearInterval(flood));
    };
    expect(await failure(read(listed(), good()))).toMatchObject({
      code: "box.too_large",
      message: "It has more than 10000 bytes; the limit is 10000 bytes per file.",
    });
  });

  it("takes exactly the limit", async () => {
    answer = (_request, response) => void response.end(Buffer.alloc(10_000, "x"));
    expect(await read(listed(), good())).toHaveLength(10_000);
  });

  it("takes no answer that is cut off, compressed or no success", async () => {
    answer = (_request, response) => {
      response.writeHead(200, { "content-length": "100" }).write("part");
      setImmediate(() => response.destroy());
    };
    expect((await failure(read(listed(), good()))).code).toBe("outbound.failed");
    answer = (_request, response) =>
      void response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(Buffer.alloc(1_000_000)));
    expect((await failure(read(listed(), good()))).message).toContain("compressed");
    answer = (_request, response) => void response.writeHead(404).end();
    expect(await failure(read(listed(), good()))).toMatchObject({
      message: "The server answered 404.",
      retryable: false,
    });
    answer = (_request, response) => void response.writeHead(503).end();
    expect(await failure(read(listed(), good()))).toMatchObject({ retryable: true });
  });

  it("tells name and type that the answer claims", async () => {
    answer = (_request, response) =>
      void response
        .writeHead(200, {
          "content-type": "Text/CSV; charset=x",
          "content-disposition": "attachment; filename*=UTF-8''%E6%8A%A5.csv",
        })
        .end();
    await using named = await listed().open(good(), LIMITS, { signal: ENDLESS });
    expect([named.name, named.mimeType]).toEqual(["报.csv", "text/csv"]);
    answer = (_request, response) => void response.writeHead(200, { "content-type": "<x>" }).end();
    await using plain = await listed().open(good("/a/%C3%A9%20x.png?y=1"), LIMITS, { signal: ENDLESS });
    expect([plain.name, plain.mimeType]).toEqual(["é x.png", null]);
    await using nameless = await listed().open(good("/"), LIMITS, { signal: ENDLESS });
    expect(nameless.name).toBeNull();
  });
});

describe("time", () => {
  it("gives up a server that is silent or slow, and says which limit struck", async () => {
    answer = silent;
    expect((await failure(read(listed({ idleMs: 50 }), good()))).message).toContain(
      "sent nothing for 0.05 s",
    );
    answer = (_request, response) => {
      const drip = setInterval(() => response.write("x"), 10);
      response.on("close", () => clearInterval(drip));
    };
    const limits = { maxBytes: 10_000, timeoutMs: 100 };
    expect((await failure(read(listed(), good(), { limits }))).message).toContain("longer than 0.1 s");
  });

  it("waits no longer than that for a resolver that never answers", async () => {
    const error = await failure(read(listed({ resolve: never, idleMs: 30 }), good()));
    expect(error.code).toBe("outbound.failed");
  });

  it("stops with the reason of the abort, before and during the answer", async () => {
    const cancel = new AbortController();
    answer = (_request, response) => {
      response.write("begin");
      setImmediate(() => cancel.abort(new Error("cancelled")));
    };
    await expect(read(listed(), good(), { signal: cancel.signal })).rejects.toThrow("cancelled");
    await expect(read(listed(), good(), { signal: cancel.signal })).rejects.toThrow("cancelled");
  });

  it("fails where nothing listens", async () => {
    const error = await failure(read(listed(), "http://good.test:9999/"));
    expect([error.code, error.message]).toEqual(["outbound.failed", "The connection to the server failed."]);
  });
});
