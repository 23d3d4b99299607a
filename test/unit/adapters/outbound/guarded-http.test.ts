import { createServer, type RequestListener, type Server } from "node:http";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { GuardedHttp } from "../../../../src/adapters/outbound/guarded-http.js";

const ENDLESS = new AbortController().signal;
const GET = { method: "GET", headers: {}, body: null };

let server: Server;
let port = 0;
let requests = 0;
let answer: RequestListener;

beforeEach(async () => {
  requests = 0;
  answer = (_request, response) => void response.end("hello");
  server = createServer((request, response) => {
    requests += 1;
    answer(request, response);
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  port = typeof address === "object" && address !== null ? address.port : 0;
});

afterEach(async () => {
  server.closeAllConnections();
  await new Promise<void>((resolve) => void server.close(() => resolve()));
});

const http = new GuardedHttp({ allowedPrivateHosts: ["good.test"], resolve: async () => ["127.0.0.1"] });
const url = (host = "good.test") => `http://${host}:${port}/mcp?a=1`;

describe("GuardedHttp", () => {
  it("sends method, headers and body to the address that was checked, under the name that was asked for", async () => {
    answer = (request, response) => {
      const seen = [request.method, request.url, request.headers["x-one"], request.headers.host];
      const body: Buffer[] = [];
      request.on("data", (bytes: Buffer) => body.push(bytes));
      request.on("end", () => void response.end(JSON.stringify([...seen, Buffer.concat(body).toString()])));
    };
    const request = { method: "POST", headers: { "x-one": "1" }, body: "sent" };
    const response = await http.request(url(), request, { signal: ENDLESS });
    expect(await response.json()).toEqual(["POST", "/mcp?a=1", "1", `good.test:${port}`, "sent"]);
  });

  it("gives status and headers as they are, redirects among them", async () => {
    answer = (_request, response) =>
      void response.writeHead(307, { location: "http://169.254.169.254/" }).end();
    const response = await http.request(url(), GET, { signal: ENDLESS });
    expect([response.status, response.headers.get("location")]).toEqual([307, "http://169.254.169.254/"]);
    expect(requests).toBe(1);
  });

  it("gives no body where the status has none", async () => {
    answer = (_request, response) => void response.writeHead(204).end();
    expect((await http.request(url(), GET, { signal: ENDLESS })).body).toBeNull();
  });

  it.each(["http://bad.test/", "ftp://good.test/", "http://good.test:22/", "http://u:p@good.test/"])(
    "refuses %s and connects nowhere",
    async (address) => {
      await expect(http.request(address, GET, { signal: ENDLESS })).rejects.toMatchObject({
        code: "outbound.refused",
      });
      expect(requests).toBe(0);
    },
  );

  it("says that a connection failed, and leaves with its caller", async () => {
    answer = (request) => void request.socket.destroy();
    await expect(http.request(url(), GET, { signal: ENDLESS })).rejects.toMatchObject({
      code: "outbound.failed",
    });
    const controller = new AbortController();
    answer = () => controller.abort(new Error("enough"));
    await expect(http.request(url(), GET, controller)).rejects.toThrow("enough");
  });

  it("ends the body with its caller", async () => {
    const controller = new AbortController();
    answer = (_request, response) => void response.write("a piece");
    const response = await http.request(url(), GET, controller);
    controller.abort(new Error("enough"));
    await expect(response.text()).rejects.toThrow(/enough|abort/i);
  });
});
