import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CONTRACTS } from "../../../src/http/contracts.js";
import {
  ADMIN_KEY,
  CLIENT_KEY,
  HELLO,
  type HttpService,
  startHttpService,
} from "../../support/http-service.js";
import { readError } from "../../support/read-answer.js";

const MIB = 1024 * 1024;
let service: HttpService;
beforeAll(async () => {
  service = await startHttpService();
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
});

/** Sends bytes as they are. @returns everything that came back until the server closed */
async function sendRaw(text: string, port = service.port): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  const parts: Buffer[] = [];
  socket.on("data", (part: Buffer) => parts.push(part));
  await new Promise<void>((resolve, reject) => {
    socket.once("error", reject).once("close", () => resolve());
    socket.write(Buffer.from(text, "latin1"));
    socket.setTimeout(5000, () => socket.destroy(new Error(`The server kept the connection open: ${text}`)));
  });
  return Buffer.concat(parts).toString();
}

function rawRequest(lines: readonly string[]): string {
  return `${["GET /v1/runs HTTP/1.1", ...lines, "Connection: close"].join("\r\n")}\r\n\r\n`;
}

const HOST = "Host: 127.0.0.1";
const AUTH = `Authorization: Bearer ${CLIENT_KEY}`;

describe("raw HTTP", () => {
  it("is served when it is sound", async () => {
    expect(await sendRaw(rawRequest([HOST, AUTH]))).toMatch(/^HTTP\/1\.1 200 /);
  });

  it.each([
    ["length and chunks together", [HOST, AUTH, "Content-Length: 3", "Transfer-Encoding: chunked"]],
    ["two lengths", [HOST, AUTH, "Content-Length: 3", "Content-Length: 4"]],
    ["another transfer encoding", [HOST, AUTH, "Transfer-Encoding: xchunked"]],
    ["a transfer encoding with a space", [HOST, AUTH, "Transfer-Encoding : chunked"]],
    ["two hosts", [HOST, "Host: evil.example", AUTH]],
    ["two keys", [HOST, AUTH, `Authorization: Bearer ${ADMIN_KEY}`]],
    ["no host", [AUTH]],
    ["a folded header", [HOST, "X-A: b\r\n c", AUTH]],
    ["a NUL in a header", [HOST, "X-A: \u0000", AUTH]],
    ["an invalid length", [HOST, AUTH, "Content-Length: -1"]],
  ])("is refused with 400 for %s", async (_case, lines) => {
    const answer = await sendRaw(rawRequest(lines));
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toMatch(/X-Request-Id: req_/i);
    expect(answer).toContain('"code":"request.invalid"');
    expect(answer).not.toContain("canary");
  });

  it.each([
    ["TRACE", 405],
    ["PROPFIND", 405],
    ["GETX", 400],
  ])("refuses the method %s with %i", async (method, status) => {
    const answer = await sendRaw(
      `${method} /v1/runs HTTP/1.1\r\n${HOST}\r\n${AUTH}\r\nConnection: close\r\n\r\n`,
    );
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(answer).not.toContain("canary");
  });

  it("refuses headers above 16 kB with 431", async () => {
    const answer = await sendRaw(rawRequest([HOST, AUTH, `X-A: ${"x".repeat(20_000)}`]));
    expect(answer).toMatch(/^HTTP\/1\.1 431 /);
    expect(answer).toContain("16384 bytes");
  });

  it.each(["not http at all\r\n\r\n", "\u0016\u0003\u0001\u0002\u0000\u0001", "GET / HTTP/9.9\r\n\r\n"])(
    "refuses %j and closes",
    async (text) => {
      expect(await sendRaw(text)).toMatch(/^HTTP\/1\.1 400 /);
    },
  );

  it.each([
    "/v1/runs/%ff",
    "/v1/runs/%",
    "/v1/files/%00",
    "//evil.example/v1/runs",
    "/v1/runs/..%2f..%2fetc%2fpasswd",
  ])("answers the path %s with a refusal", async (path) => {
    const answer = await sendRaw(`GET ${path} HTTP/1.1\r\n${HOST}\r\n${AUTH}\r\nConnection: close\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 40[04] /);
    expect(answer).not.toContain("passwd:");
  });

  it("refuses names that were made to resolve to this machine when no key is configured", async () => {
    await using open = await startHttpService({ keys: [] });
    const answer = await sendRaw(rawRequest(["Host: evil.example"]), open.port);
    expect(answer).toMatch(/^HTTP\/1\.1 403 /);
    expect(await sendRaw(rawRequest(["Host: localhost:1234"]), open.port)).toMatch(/^HTTP\/1\.1 200 /);
  });
});

const BODIES: readonly (readonly [
  string,
  NonNullable<RequestInit["body"]>,
  Record<string, string>,
  number,
])[] = [
  ["no JSON", "{", { "content-type": "application/json" }, 400],
  ["a bare text", '"text"', { "content-type": "application/json" }, 400],
  ["null", "null", { "content-type": "application/json" }, 400],
  ["a list", "[]", { "content-type": "application/json" }, 400],
  ["invalid UTF-8", Buffer.from([0x7b, 0xff, 0x7d]), { "content-type": "application/json" }, 400],
  ["100,000 levels", "[".repeat(100_000) + "]".repeat(100_000), { "content-type": "application/json" }, 400],
  [
    "unknown fields",
    '{"chat":{"launcher_id":"1"},"input":{},"colour":1}',
    { "content-type": "application/json" },
    400,
  ],
  ["__proto__", '{"__proto__":{"admin":true}}', { "content-type": "application/json" }, 400],
  ["no content type", Buffer.from("{}"), {}, 415],
  ["plain text", "{}", { "content-type": "text/plain" }, 415],
  ["a form of fields", "a=b", { "content-type": "application/x-www-form-urlencoded" }, 415],
  ["an unknown encoding", "{}", { "content-type": "application/json", "content-encoding": "zstd" }, 415],
  ["an unknown character set", "{}", { "content-type": "application/json; charset=x-none" }, 415],
  ["broken gzip", "{}", { "content-type": "application/json", "content-encoding": "gzip" }, 400],
  [
    "33 MiB",
    JSON.stringify({ ...HELLO, variables: { a: "x".repeat(33 * MIB) } }),
    { "content-type": "application/json" },
    413,
  ],
  [
    "33 MiB packed into a few",
    gzipSync(JSON.stringify({ ...HELLO, variables: { a: "x".repeat(33 * MIB) } })),
    { "content-type": "application/json", "content-encoding": "gzip" },
    413,
  ],
  [
    "more values than are parsed",
    `[${"[],".repeat(200_000)}[]]`,
    { "content-type": "application/json" },
    400,
  ],
  ["another character set", "{}", { "content-type": "application/json; charset=utf-16" }, 415],
  ["a form with an empty boundary", "x", { "content-type": "multipart/form-data; boundary=" }, 400],
  ["a form without a boundary", "x", { "content-type": "multipart/form-data" }, 400],
  ["a form that ends too early", "--b\r\n", { "content-type": "multipart/form-data; boundary=b" }, 400],
];

describe("a hostile body", () => {
  it.each(BODIES)("of %s is refused by POST /v1/runs", async (...[, body, headers, status]) => {
    const response = await service.fetch("/v1/runs", { method: "POST", body, headers });
    expect(response.status).toBe(status);
    const error = await readError(response);
    expect(error.type).toBe("invalid_request_error");
    expect(error.message.includes("may have 33554432 bytes")).toBe(status === 413);
    expect(service.runs.requests).toEqual([]);
  });

  it("is refused before it is parsed when it holds too many values, as JSON and as a part of a form", async () => {
    const body = `{"variables":{${'"a":[],'.repeat(100_000)}"b":1}}`;
    const form = new FormData();
    form.append("request", body);
    const headers = { "content-type": "application/json" };
    for (const request of [{ body, headers }, { body: form }]) {
      const response = await service.fetch("/v1/runs", { method: "POST", ...request });
      expect(response.status).toBe(400);
      expect((await readError(response)).message).toBe("JSON may hold 100000 values; more came.");
    }
    expect(service.runs.requests).toEqual([]);
  });

  it("meets no route that answers with a failure of the service", async () => {
    const posts = CONTRACTS.filter(({ method }) => method === "post");
    const statuses: number[] = [];
    for (const { path } of posts) {
      for (const [, body, headers] of BODIES.filter(([name]) => !name.includes("33 MiB"))) {
        const response = await service.fetch(path, { method: "POST", body, headers });
        statuses.push(response.status);
        await readError(response);
      }
    }
    expect(statuses.filter((status) => status < 400 || status >= 500)).toEqual([]);
    expect(statuses).toHaveLength(posts.length * (BODIES.length - 2));
  });

  it("meets no query that answers with a failure of the service", async () => {
    const gets = CONTRACTS.filter(({ method, access }) => method === "get" && access !== "public");
    const queries = [
      "?colour=red",
      "?limit=1e9",
      "?after=%00",
      "?limit=&limit=1",
      "?a[b]=c",
      `?after=${"x".repeat(5000)}`,
    ];
    const statuses: number[] = [];
    for (const { path } of gets) {
      for (const query of queries) {
        const response = await service.fetch(`${path}${query}`, { key: ADMIN_KEY });
        statuses.push(response.status);
        await readError(response);
      }
    }
    expect(statuses.filter((status) => status < 400 || status >= 500)).toEqual([]);
  });

  it("that never ends is left behind by a client that hangs up", async () => {
    const socket = connect(service.port, "127.0.0.1");
    const head = [
      "POST /v1/runs HTTP/1.1",
      HOST,
      AUTH,
      "Content-Type: multipart/form-data; boundary=b",
      "Content-Length: 1000",
    ];
    const part = '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nhalf a file';
    const before = service.logger.lines.length;
    await new Promise((resolve) => socket.write(`${head.join("\r\n")}\r\n\r\n${part}`, resolve));
    socket.destroy();
    await expect.poll(() => service.logger.lines.length).toBeGreaterThan(before);
    expect(service.runs.requests).toEqual([]);
    expect((await service.fetch("/healthz")).status).toBe(200);
  });

  it("leaves the keys out of every log line", () => {
    expect(service.logger.lines.length).toBeGreaterThan(100);
    expect(service.logger.text()).not.toContain("canary");
  });
});
