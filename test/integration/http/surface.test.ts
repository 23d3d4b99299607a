import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CONTRACTS } from "../../../src/http/contracts.js";
import {
  ADMIN_KEY,
  CLIENT_KEY,
  HELLO,
  type HttpService,
  json,
  OTHER_KEY,
  startHttpService,
} from "../../support/http-service.js";
import { readError } from "../../support/read-answer.js";

let service: HttpService;
beforeEach(async () => {
  service = await startHttpService();
});
afterEach(async () => {
  await service[Symbol.asyncDispose]();
});

describe("keys", () => {
  const keyed = CONTRACTS.filter(({ access }) => access !== "public");

  it.each(keyed)("are asked for by $method $path, and a wrong one is 401", async ({ method, path }) => {
    for (const authorization of ["", "Bearer ", `Bearer ${ADMIN_KEY}x`, `Basic ${ADMIN_KEY}`, ADMIN_KEY]) {
      const response = await service.fetch(path, {
        method: method.toUpperCase(),
        headers: { authorization },
      });
      expect(response.status).toBe(401);
      expect(response.headers.get("www-authenticate")).toBe("Bearer");
      expect(await readError(response)).toMatchObject({
        code: "auth.invalid",
        type: "authentication_error",
        message: "A valid key is needed.",
      });
    }
    expect(service.runs.requests).toEqual([]);
  });

  it("may be named in any case of the word Bearer", async () => {
    const response = await service.fetch("/v1/runs", { headers: { authorization: `bearer ${CLIENT_KEY}` } });
    expect(response.status).toBe(200);
  });

  it("of the role client get no metrics", async () => {
    const refused = await service.fetch("/metrics");
    expect(refused.status).toBe(403);
    expect(await readError(refused)).toMatchObject({ code: "auth.forbidden" });
    const response = await service.fetch("/metrics", { key: ADMIN_KEY });
    expect(await response.text()).toBe("berth_up 1\n");
    expect(response.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
  });

  it("are limited in failures by address, while a right key goes on", async () => {
    await using strict = await startHttpService({ authFailuresPerMinute: 2 });
    const wrong = () => strict.fetch("/v1/runs", { key: "wrong" });
    expect([(await wrong()).status, (await wrong()).status]).toEqual([401, 401]);
    const third = await wrong();
    expect(third.status).toBe(429);
    expect(third.headers.get("retry-after")).toBe("30");
    expect((await strict.fetch("/v1/runs")).status).toBe(200);
    strict.clock.advance(30_000);
    expect((await wrong()).status).toBe(401);
  });
});

describe("another tenant's run", () => {
  it.each([
    ["GET", ""],
    ["GET", "/events"],
    ["POST", "/cancel"],
    ["GET", "/steering"],
    ["POST", "/steer"],
    ["POST", "/retry"],
    ["POST", "/deliveries/file_1/ack"],
  ])("answers 404 to %s %s", async (method, suffix) => {
    service.runs.outcome = "later";
    await service.fetch("/v1/runs", json({ ...HELLO, wait: false }));
    const bodies = new Map<string, unknown>([["/steer", { text: "Hi" }]]);
    const body = suffix.endsWith("ack") ? { state: "sent" } : bodies.get(suffix);
    const init = body === undefined ? { method } : json(body);
    const response = await service.fetch(`/v1/runs/run_1${suffix}`, { ...init, key: OTHER_KEY });
    expect(response.status).toBe(404);
    expect(await readError(response)).toMatchObject({ code: "run.not_found", type: "not_found_error" });
    expect(await (await service.fetch("/v1/runs", { key: OTHER_KEY })).json()).toMatchObject({ data: [] });
  });
});

describe("without a configured key", () => {
  let open: HttpService;
  beforeEach(async () => {
    open = await startHttpService({ keys: [] });
  });
  afterEach(async () => {
    await open[Symbol.asyncDispose]();
  });

  it("this machine is served as admin of the tenant main", async () => {
    const headers = { origin: "http://localhost:3000" };
    expect((await open.fetch("/metrics", { key: null, headers })).status).toBe(200);
    expect((await open.fetch("/v1/runs", { ...json(HELLO), key: null })).status).toBe(200);
  });

  it.each(["https://evil.example", "null", "http://127.0.0.1.evil.example", "file://"])(
    "a page of %s is refused",
    async (origin) => {
      const response = await open.fetch("/v1/runs", { ...json(HELLO), key: null, headers: { origin } });
      expect(response.status).toBe(403);
      expect(await readError(response)).toMatchObject({ code: "auth.forbidden" });
      expect(open.runs.requests).toEqual([]);
    },
  );
});

describe("limits by tenant", () => {
  it("hold requests back with 429 and the seconds to wait", async () => {
    await using strict = await startHttpService({ requestsPerMinute: 2 });
    await strict.fetch("/v1/runs");
    await strict.fetch("/v1/files");
    const third = await strict.fetch("/v1/runs");
    expect(third.status).toBe(429);
    expect(third.headers.get("retry-after")).toBe("30");
    expect(await readError(third)).toMatchObject({ code: "request.rate_limited", type: "rate_limit_error" });
    expect((await strict.fetch("/v1/runs", { key: OTHER_KEY })).status).toBe(200);
    expect((await strict.fetch("/healthz", { key: null })).status).toBe(200);
  });

  it("hold new runs back, and refused requests do not count", async () => {
    await using strict = await startHttpService({ runsPerMinute: 1 });
    expect((await strict.fetch("/v1/runs", json({}))).status).toBe(400);
    expect((await strict.fetch("/v1/runs", json(HELLO))).status).toBe(200);
    expect((await strict.fetch("/v1/runs", json(HELLO))).status).toBe(429);
  });
});

describe("unknown routes", () => {
  it("are 404 with the envelope and a request id", async () => {
    const response = await service.fetch("/v1/nothing", { key: null });
    expect(response.status).toBe(404);
    const error = await readError(response);
    expect(error).toMatchObject({
      code: "request.route_not_found",
      message: "There is no route GET /v1/nothing.",
    });
    expect(response.headers.get("x-request-id")).toBe(error.request_id);
  });

  it("are 405 for a known path, naming the methods", async () => {
    for (const method of ["PUT", "PATCH", "OPTIONS"]) {
      const response = await service.fetch("/v1/files/file_1", { method });
      expect(response.status).toBe(405);
      expect(response.headers.get("allow")).toBe("GET, DELETE, HEAD");
      expect(await readError(response)).toMatchObject({ code: "request.method_not_allowed" });
    }
  });
});

describe("request ids", () => {
  it("are echoed when they are sane, and made otherwise", async () => {
    const sane = await service.fetch("/healthz", { headers: { "x-request-id": "abc-123_X.y:z" } });
    expect(sane.headers.get("x-request-id")).toBe("abc-123_X.y:z");
    for (const odd of ["a b", "x".repeat(129), "a;b"]) {
      const response = await service.fetch("/healthz", { headers: { "x-request-id": odd } });
      expect(response.headers.get("x-request-id")).toMatch(/^req_/);
    }
  });
});

describe("operations", () => {
  it("say that the process lives", async () => {
    const response = await service.fetch("/healthz", { key: null });
    expect(await response.json()).toEqual({ status: "ok" });
  });

  it("say whether every part is ready, and name the one that is not", async () => {
    expect((await service.fetch("/readyz", { key: null })).status).toBe(200);
    service.parts = [
      { name: "store", ok: true, reason: null },
      { name: "engine", ok: false, reason: "The engine does not answer." },
    ];
    service.clock.advance(2000);
    const response = await service.fetch("/readyz", { key: null });
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({
      status: "not_ready",
      parts: [{ name: "store" }, { name: "engine", ok: false, reason: "The engine does not answer." }],
      error: { code: "service.not_ready", message: "Not ready. engine: The engine does not answer." },
    });
  });

  it("call a service that is stopping not ready, while it lives", async () => {
    service.runs.isStopping = true;
    const response = await service.fetch("/readyz", { key: null });
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({
      error: { message: "Not ready. service: It is stopping." },
    });
    expect((await service.fetch("/healthz", { key: null })).status).toBe(200);
  });

  it("show the document of the routes", async () => {
    const response = await service.fetch("/openapi.json", { key: null });
    expect(await response.json()).toMatchObject({ openapi: "3.1.0", paths: { "/v1/runs": { post: {} } } });
  });

  it("show a start page to people and plain text to tools", async () => {
    const html = await service.fetch("/", { key: null, headers: { accept: "text/html,*/*;q=0.8" } });
    expect(html.headers.get("content-type")).toMatch(/^text\/html/);
    expect(html.headers.get("content-security-policy")).toBe("default-src 'none';frame-ancestors 'none'");
    expect(await html.text()).toContain(`curl -s ${service.url}/v1/runs`);
    const text = await service.fetch("/", { key: null });
    expect(text.headers.get("content-type")).toMatch(/^text\/plain/);
  });

  it("send no header that allows other sites in, or names the framework", async () => {
    const response = await service.fetch("/v1/runs", { headers: { origin: "https://evil.example" } });
    const headers = Object.fromEntries(response.headers);
    expect(headers["access-control-allow-origin"]).toBeUndefined();
    expect(headers["x-powered-by"]).toBeUndefined();
    expect(headers["x-content-type-options"]).toBe("nosniff");
  });
});

describe("the log", () => {
  it("has one line per request, with outcome and ids, and nothing of content, keys or tokens", async () => {
    await service.fetch("/v1/runs?chat=person:canary", json({}));
    await service.fetch("/v1/runs", json({ ...HELLO, input: { text: "canary text" } }));
    await service.fetch("/v1/links/file_1?token=canary-token", { key: null });
    await service.fetch("/v1/runs", { key: "wrong-canary" });
    await expect.poll(() => service.logger.lines.length).toBe(4);
    expect(service.logger.lines.map(({ fields }) => fields)).toMatchObject([
      { method: "POST", route: "/v1/runs", status: 400, code: "request.invalid", tenant: "main" },
      { method: "POST", route: "/v1/runs", status: 200, tenant: "main", runId: "run_1", outcome: "answered" },
      { method: "GET", route: "/v1/links/:id", status: 404 },
      { method: "GET", route: "/v1/runs", status: 401, code: "auth.invalid" },
    ]);
    expect(service.logger.text()).not.toMatch(/canary/);
  });

  it("has an unexpected failure with its cause, and the client gets none of it", async () => {
    service.runs.list = async () => Promise.reject(new Error("canary at /host/path"));
    const response = await service.fetch("/v1/runs");
    expect(response.status).toBe(500);
    expect(await readError(response)).toEqual({
      message: "The service failed in an unexpected way.",
      type: "server_error",
      code: "internal",
      request_id: response.headers.get("x-request-id"),
    });
    await expect.poll(() => service.logger.lines.length).toBe(1);
    expect(service.logger.lines[0]).toMatchObject({ level: "error", fields: { code: "internal" } });
  });
});
