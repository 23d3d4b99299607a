import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import { connect, createServer, type Server as NetServer, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { EgressLimits } from "../../../../src/adapters/egress/egress-limits.js";
import { HttpEgressBroker } from "../../../../src/adapters/egress/http-egress-broker.js";
import type { SecretHeader } from "../../../../src/adapters/egress/secret-headers.js";
import { EgressRules } from "../../../../src/domain/egress-rules.js";
import { CleanupStack } from "../../../../src/lib/cleanup-stack.js";
import { FakeClock } from "../../../fakes/fake-clock.js";
import { KeptLogger } from "../../../fakes/kept-logger.js";
import { RelayedSockets } from "../../../support/relayed-sockets.js";

const LIMITS: EgressLimits = {
  maxConnections: 32,
  maxBytesPerHour: 50_000_000,
  connectionMs: 60_000,
  idleMs: 30_000,
};
const SECRET = "tok-0123456789abcdef";

interface Wanted {
  readonly allowHosts?: readonly string[];
  readonly privateHosts?: readonly string[];
  readonly secretHeaders?: readonly SecretHeader[];
  readonly limits?: Partial<EgressLimits>;
  /** Names and what they resolve to; others do not. */
  readonly names?: Readonly<Record<string, readonly string[]>>;
  readonly ownAddresses?: readonly string[];
}

describe("the egress broker", () => {
  let life: CleanupStack;
  beforeEach(() => {
    life = new CleanupStack();
  });
  afterEach(async () => {
    await life[Symbol.asyncDispose]();
  });

  /** A broker for one box; @returns the port where the box's programs find it, and what they did. */
  async function serve(wanted: Wanted) {
    const asked: string[] = [];
    const resolve = async (name: string) => {
      asked.push(name);
      const found = wanted.names?.[name];
      return found === undefined ? Promise.reject(new Error("ENOTFOUND")) : Promise.resolve(found);
    };
    const logger = new KeptLogger();
    const clock = new FakeClock();
    const broker = new HttpEgressBroker({
      rules: new EgressRules({
        allowHosts: wanted.allowHosts ?? [],
        privateHosts: wanted.privateHosts ?? [],
      }),
      limits: { ...LIMITS, ...wanted.limits },
      secretHeaders: wanted.secretHeaders ?? [],
      logger,
      clock,
      resolvers: {
        anyName: resolve,
        listedName: resolve,
        ...(wanted.ownAddresses === undefined ? {} : { ownAddresses: () => wanted.ownAddresses ?? [] }),
      },
    });
    const relay = life.use(new RelayedSockets(broker));
    const proxy = await relay.listen();
    return { proxy, asked, logger, relay, clock, broker };
  }

  /** A web server on loopback; it stands for a private host that the operator listed. */
  async function host(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<number> {
    return listen(createHttpServer(answer));
  }

  async function echoHost(): Promise<number> {
    return listen(createServer((socket) => socket.pipe(socket)));
  }

  async function listen(server: Server | NetServer): Promise<number> {
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve);
    });
    const sockets = new Set<Socket>();
    server.on("connection", (socket: Socket) => sockets.add(socket));
    life.defer(async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    });
    const address = server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  }

  function dial(port: number): Socket {
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    socket.on("error", () => undefined);
    life.defer(() => {
      socket.destroy();
    });
    return socket;
  }

  /** Sends raw text and reads until the proxy ends. */
  async function say(port: number, text: string): Promise<string> {
    const socket = dial(port);
    socket.write(text);
    return readAll(socket);
  }

  it("sends a plain request to a listed host and gives its answer back", async () => {
    const port = await host((request, response) => {
      response.setHeader("x-seen", `${request.method} ${request.url} ${request.headers.host}`);
      response.end("hello");
    });
    const { proxy, logger } = await serve({
      privateHosts: [`files.test:${port}`],
      names: { "files.test": ["127.0.0.1"] },
    });

    const answer = await say(proxy, get(`http://files.test:${port}/a/b?q=secret-query`, "X-Mine: 1\r\n"));

    expect(answer).toContain("HTTP/1.1 200 OK");
    expect(answer).toContain(`x-seen: GET /a/b?q=secret-query files.test:${port}`);
    expect(answer).toContain("hello");
    expect(logger.lines.map(({ fields }) => fields)).toMatchObject([
      { sessionId: "ses_a", method: "GET", host: "files.test", port, outcome: "allowed" },
    ]);
    expect(logger.text()).not.toContain("secret-query");
    expect(logger.text()).not.toContain("X-Mine");
  });

  it("sends bodies of both kinds and keeps a connection for several requests", async () => {
    const bodies: string[] = [];
    const port = await host((request, response) => {
      const parts: Buffer[] = [];
      request.on("data", (part: Buffer) => parts.push(part));
      request.on("end", () => {
        bodies.push(
          `${request.headers["content-length"] ?? request.headers["transfer-encoding"]}:${Buffer.concat(parts).toString()}`,
        );
        response.end("ok");
      });
    });
    const { proxy, logger } = await serve({ privateHosts: [`127.0.0.1:${port}`] });
    const base = `http://127.0.0.1:${port}/`;

    const answer = await say(
      proxy,
      `POST ${base} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Length: 3\r\n\r\nabc` +
        `POST ${base} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\nxyz\r\n0\r\n\r\n`,
    );

    expect(answer.match(/200 OK/g)).toHaveLength(2);
    expect(bodies).toEqual(["3:abc", "chunked:xyz"]);
    expect(logger.lines).toHaveLength(2);
  });

  it("answers a program that ends its side right after its request, with and without a body", async () => {
    const port = await host((request, response) => {
      request.resume();
      request.once("end", () => setTimeout(() => response.end("late answer"), 50));
    });
    const { proxy, logger, relay } = await serve({ privateHosts: [`127.0.0.1:${port}`] });
    const head = `http://127.0.0.1:${port}/ HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n`;
    const whole = [
      `GET ${head}\r\n`,
      `POST ${head}Content-Length: 3\r\n\r\nabc`,
      `GET ${head}\r\nGET ${head}\r\n`,
    ];

    const answers = await Promise.all(
      whole.map(async (text) => {
        const socket = dial(proxy);
        socket.end(text);
        return readAll(socket);
      }),
    );

    expect(answers.map((answer) => answer.match(/late answer/g)?.length)).toEqual([1, 1, 2]);
    expect(logger.lines.map(({ fields }) => fields.outcome)).toEqual(Array(4).fill("allowed"));
    await expect.poll(() => relay.sockets.size).toBe(0);
  });

  it("lets go of its host when a program ends its side in the middle of its request", async () => {
    const sockets = new Set<Socket>();
    const port = await host((request) => {
      sockets.add(request.socket);
      request.socket.once("close", () => sockets.delete(request.socket));
      request.on("error", () => undefined);
    });
    const { proxy } = await serve({ privateHosts: [`127.0.0.1:${port}`] });
    const base = `POST http://127.0.0.1:${port}/ HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n`;
    const socket = dial(proxy);
    socket.write(`${base}Content-Length: 10\r\n\r\nabc`);
    await expect.poll(() => sockets.size).toBe(1);
    socket.end();

    expect(await readAll(socket)).not.toContain("200");
    await expect.poll(() => sockets.size).toBe(0);
  });

  it("carries a tunnel to a listed port, both ways and to the end of each", async () => {
    const port = await echoHost();
    const { proxy, logger } = await serve({
      privateHosts: [`db.test:${port}`],
      names: { "db.test": ["127.0.0.1"] },
    });
    const socket = dial(proxy);
    socket.write(`CONNECT db.test:${port} HTTP/1.1\r\nHost: db.test:${port}\r\n\r\nearly `);
    socket.end("late");

    const answer = await readAll(socket);

    expect(answer).toBe("HTTP/1.1 200 Connection Established\r\n\r\nearly late");
    await expect.poll(() => logger.lines.length).toBe(1);
    expect(logger.lines[0]?.fields).toMatchObject({
      method: "CONNECT",
      host: "db.test",
      port,
      outcome: "allowed",
    });
    expect(logger.lines[0]?.fields.receivedBytes).toBe(answer.length);
  });

  it("looks up no name that is not on the list", async () => {
    const { proxy, asked, logger } = await serve({
      allowHosts: ["example.org"],
      names: { "secret.attacker.test": ["93.184.216.34"] },
    });

    expect(await say(proxy, get("http://secret.attacker.test/"))).toContain("403 Forbidden");
    expect(await say(proxy, "CONNECT secret.attacker.test:443 HTTP/1.1\r\n\r\n")).toContain("403 Forbidden");
    expect(await say(proxy, "CONNECT example.org:22 HTTP/1.1\r\n\r\n")).toContain("Port 22 of example.org");

    expect(asked).toEqual([]);
    expect(logger.lines.map(({ fields }) => fields.reason)).toEqual(["host", "host", "port"]);
  });

  it.each([
    "127.0.0.1",
    "10.1.2.3",
    "172.17.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "0.0.0.0",
    "::1",
    "fe80::1",
    "fd00:ec2::254",
    "::ffff:127.0.0.1",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
  ])(
    "refuses a name that leads to %s, alone or among others, with the words for one that does not exist",
    async (address) => {
      const names = { "a.test": [address], "b.test": ["93.184.216.34", address] };
      const { proxy } = await serve({ names });
      const answers = await Promise.all(
        ["a", "b", "unknown"].map(async (name) => say(proxy, get(`http://${name}.test/`))),
      );
      const tunnels = await Promise.all(
        ["a", "b", "unknown"].map(async (name) => say(proxy, `CONNECT ${name}.test:443 HTTP/1.1\r\n\r\n`)),
      );

      expect(new Set(answers.map(bodyOf))).toEqual(
        new Set(["The host has no public address that a box may reach.\n"]),
      );
      expect(new Set(tunnels.map(bodyOf))).toEqual(new Set(answers.map(bodyOf)));
    },
  );

  it.each([
    "http://127.0.0.1/",
    "http://127.1/",
    "http://2130706433/",
    "http://0x7f.1/",
    "http://[::1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://169.254.169.254/latest/meta-data/",
    "http://localhost./",
  ])("refuses %s as an address of its own", async (url) => {
    const { proxy } = await serve({ names: { localhost: ["127.0.0.1"] } });

    expect(await say(proxy, `GET ${url} HTTP/1.1\r\nConnection: close\r\n\r\n`)).not.toContain("200");
  });

  it.each(["169.254.169.254", "100.100.100.200", "fd00:ec2::254", "0.0.0.0", "224.0.0.1"])(
    "refuses %s also where the operator listed its name",
    async (address) => {
      const { proxy } = await serve({ privateHosts: ["meta.test:80"], names: { "meta.test": [address] } });

      expect(await say(proxy, get("http://meta.test/"))).toContain("403 Forbidden");
    },
  );

  it("refuses addresses of its own machine in public ranges too, however they are spelled", async () => {
    const names = { "me.test": ["93.184.216.34"], "six.test": ["2606:2800:0220:0001:0:0:0:1"] };
    const ownAddresses = ["127.0.0.1", "93.184.216.34", "2606:2800:220:1::1"];
    const { proxy } = await serve({ names, ownAddresses });

    for (const named of ["me.test", "93.184.216.34", "six.test", "[2606:2800:220:1::1]"]) {
      expect(await say(proxy, get(`http://${named}/`))).toContain("403 Forbidden");
      expect(await say(proxy, `CONNECT ${named}:443 HTTP/1.1\r\n\r\n`)).toContain("403 Forbidden");
    }
  });

  it("connects to the address that was checked, whatever a second look-up would say", async () => {
    let connections = 0;
    const port = await host((_request, response) => {
      connections += 1;
      response.end("inside");
    });
    const answers = [["93.184.216.34"], ["127.0.0.1"]];
    const asked: string[] = [];
    const resolve = async (name: string) => {
      asked.push(name);
      return Promise.resolve(answers[asked.length - 1] ?? ["127.0.0.1"]);
    };
    const broker = new HttpEgressBroker({
      rules: new EgressRules({ allowHosts: [`rebind.test:${port}`], privateHosts: [] }),
      limits: { ...LIMITS, connectionMs: 500 },
      secretHeaders: [],
      logger: new KeptLogger(),
      clock: new FakeClock(),
      resolvers: { anyName: resolve, listedName: resolve },
    });
    const relay = life.use(new RelayedSockets(broker));
    const proxy = await relay.listen();

    await say(proxy, get(`http://rebind.test:${port}/`));

    expect(asked).toEqual(["rebind.test"]);
    expect(connections).toBe(0);
  });

  it("checks every request by itself: a redirect to a private address is only text", async () => {
    const port = await host((_request, response) => {
      response.writeHead(302, { location: "http://127.0.0.1:1/" }).end();
    });
    const { proxy } = await serve({ privateHosts: [`go.test:${port}`], names: { "go.test": ["127.0.0.1"] } });

    expect(await say(proxy, get(`http://go.test:${port}/`))).toContain("location: http://127.0.0.1:1/");
    expect(await say(proxy, get("http://127.0.0.1:80/"))).toContain("403 Forbidden");
  });

  it.each([
    ["another Host", get("http://a.test/", "", "b.test")],
    ["two Hosts", get("http://a.test/", "Host: a.test\r\n")],
    ["another port in Host", get("http://a.test/", "", "a.test:81")],
    ["user info", "GET http://user:pw@a.test/ HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n"],
    ["no absolute form", "GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n"],
    ["another scheme", "GET ftp://a.test/ HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n"],
    ["TRACE", "TRACE http://a.test/ HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n"],
    ["a strange encoding", get("http://a.test/", "Transfer-Encoding: xchunked\r\n")],
    ["two lengths", get("http://a.test/", "Content-Length: 1\r\nContent-Length: 2\r\n")],
    ["a length and chunks", get("http://a.test/", "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n")],
    ["a folded header", get("http://a.test/", "X: a\r\n b\r\n")],
    ["a head that is too large", get("http://a.test/", `X: ${"a".repeat(20_000)}\r\n`)],
    ["CONNECT to another Host", "CONNECT a.test:443 HTTP/1.1\r\nHost: b.test:443\r\n\r\n"],
    ["CONNECT without a port", "CONNECT a.test HTTP/1.1\r\n\r\n"],
    ["CONNECT with a path", "CONNECT a.test:443/x HTTP/1.1\r\n\r\n"],
    ["no HTTP", "\x16\x03\x01\x00\x05hello"],
  ])("refuses a request with %s before any look-up", async (_what, text) => {
    const { proxy, asked } = await serve({
      names: { "a.test": ["93.184.216.34"], "b.test": ["93.184.216.34"] },
    });

    expect(await say(proxy, text)).toMatch(/^HTTP\/1\.1 (400|431) /);
    expect(asked).toEqual([]);
  });

  it("answers for a host that does not take the connection, and for one that ends in the middle", async () => {
    const port = await listen(
      createServer((socket) => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")),
    );
    const { proxy } = await serve({ privateHosts: [`127.0.0.1:${port}`, "127.0.0.1:1"] });

    expect(await say(proxy, get("http://127.0.0.1:1/"))).toContain("502 Bad Gateway");
    expect(await say(proxy, "CONNECT 127.0.0.1:1 HTTP/1.1\r\n\r\n")).toContain("502 Bad Gateway");
    expect(await say(proxy, get(`http://127.0.0.1:${port}/`))).toContain("half");
  });

  it("adds a secret header for its one host and takes it out of what comes back", async () => {
    const seen: (string | undefined)[] = [];
    const port = await host((request, response) => {
      seen.push(request.headers.authorization);
      const told = `you sent ${request.headers.authorization} as ${request.headers["accept-encoding"]}`;
      response.writeHead(200, { "x-echo": told, "content-length": Buffer.byteLength(told) });
      response.write(told.slice(0, 20));
      setImmediate(() => response.end(told.slice(20)));
    });
    const names = { "api.test": ["127.0.0.1"], "other.test": ["127.0.0.1"] };
    const { proxy, logger } = await serve({
      privateHosts: [`api.test:${port}`, `other.test:${port}`],
      names,
      secretHeaders: [{ host: `api.test:${port}`, header: "Authorization", value: `Bearer ${SECRET}` }],
    });

    const answer = await say(
      proxy,
      get(`http://api.test:${port}/`, "authorization: mine\r\nRange: bytes=0-3\r\nAccept-Encoding: gzip\r\n"),
    );
    const other = await say(proxy, get(`http://other.test:${port}/`));

    expect(seen).toEqual([`Bearer ${SECRET}`, undefined]);
    expect(answer).toContain("you sent [redacted] as identity");
    expect(`${answer}${other}${logger.text()}`).not.toContain(SECRET);
  });

  it("takes a secret out of an answer that comes byte by byte, is cut off, or names it in its head", async () => {
    const form = `Basic ${Buffer.from(`me:${SECRET}`).toString("base64")}`;
    const port = await host((request, response) => {
      const told = `${request.headers.authorization} ${SECRET} ${encodeURIComponent(form)} end`;
      response.writeHead(200, `fine ${SECRET}`, {
        [SECRET]: "name",
        "set-cookie": [SECRET, "other"],
        trailer: "x-t",
      });
      response.addTrailers({ "x-t": SECRET });
      void (async () => {
        for (const byte of Buffer.from(told)) {
          response.write(Buffer.of(byte));
          await new Promise((resolve) => {
            setImmediate(resolve);
          });
        }
        if (request.url === "/cut") {
          response.write(SECRET.slice(0, -1), () => response.destroy());
        } else response.end();
      })();
    });
    const { proxy } = await serve({
      privateHosts: [`127.0.0.1:${port}`],
      secretHeaders: [{ host: `127.0.0.1:${port}`, header: "Authorization", value: form }],
    });

    const whole = await say(proxy, get(`http://127.0.0.1:${port}/`));
    const cut = await say(proxy, get(`http://127.0.0.1:${port}/cut`));

    // Chunks are joined as a program in the box would do it.
    for (const answer of [whole, cut].map((text) => text.replace(/\r\n[0-9a-f]+\r\n/g, ""))) {
      expect(answer).toContain("[redacted]");
      for (const secret of [SECRET, SECRET.slice(0, -1), form, form.slice(6), encodeURIComponent(form)])
        expect(answer).not.toContain(secret);
    }
    expect(whole.match(/\[redacted\]/g)?.length).toBeGreaterThanOrEqual(4);
  });

  it("adds a secret header however its host is spelled, and masks it there too", async () => {
    const seen: (string | undefined)[] = [];
    const port = await host((request, response) => {
      seen.push(`${request.headers.host} ${String(request.headers["x-key"])}`);
      response.end(`key ${String(request.headers["x-key"])}`);
    });
    const { proxy } = await serve({
      privateHosts: [`Api.Test:${port}`],
      names: { "api.test": ["127.0.0.1"] },
      secretHeaders: [{ host: `api.test:${port}`, header: "X-Key", value: SECRET }],
    });

    const answers = [];
    for (const spelled of ["api.test", "API.Test", "api.test.", "%61pi.test"])
      answers.push(await say(proxy, get(`http://${spelled}:${port}/`, "", `${spelled}:${port}`)));

    expect(seen.map((text) => text?.split(" ")[1])).toEqual([SECRET, SECRET, SECRET]);
    expect(answers.map((answer) => /key .*|HTTP\S+ 400/.exec(answer)?.[0])).toEqual([
      "key [redacted]",
      "key [redacted]",
      "key [redacted]",
      "HTTP/1.1 400",
    ]);
  });

  it("adds a secret header to no other port, no other name, no address of its host, and inside of no tunnel", async () => {
    const seen: (string | undefined)[] = [];
    const answer = (request: IncomingMessage, response: ServerResponse): void => {
      seen.push(`${request.headers.host} ${String(request.headers["x-key"] ?? "-")}`);
      response.end("ok");
    };
    const [port, otherPort] = [await host(answer), await host(answer)];
    const hosts = [`api.test:${port}`, `api.test:${otherPort}`, `sub.api.test:${port}`, `127.0.0.1:${port}`];
    const { proxy } = await serve({
      privateHosts: hosts,
      names: { "api.test": ["127.0.0.1"], "sub.api.test": ["127.0.0.1"] },
      secretHeaders: [{ host: `api.test:${port}`, header: "X-Key", value: SECRET }],
    });

    for (const named of hosts.slice(1)) await say(proxy, get(`http://${named}/`));
    const inside = `GET / HTTP/1.1\r\nHost: api.test:${port}\r\nConnection: close\r\n\r\n`;
    for (const named of [`api.test:${port}`, `API.TEST.:${port}`])
      await say(proxy, `CONNECT ${named} HTTP/1.1\r\nHost: ${named}\r\n\r\n${inside}`);

    expect(seen).toEqual([...hosts.slice(1), hosts[0], hosts[0]].map((named) => `${named} -`));
  });

  it("gives no encoded answer back from a host with a secret", async () => {
    const port = await host((_request, response) => {
      response.writeHead(200, { "content-encoding": "gzip" }).end("whatever");
    });
    const { proxy } = await serve({
      privateHosts: [`127.0.0.1:${port}`],
      secretHeaders: [{ host: `127.0.0.1:${port}`, header: "x-key", value: SECRET }],
    });

    expect(await say(proxy, get(`http://127.0.0.1:${port}/`))).toContain("502 Bad Gateway");
  });

  it("ends a connection through which nothing goes, and one that lasts too long", async () => {
    const port = await echoHost();
    const idle = await serve({ privateHosts: [`127.0.0.1:${port}`], limits: { idleMs: 100 } });
    const long = await serve({ privateHosts: [`127.0.0.1:${port}`], limits: { connectionMs: 300 } });
    const open = `CONNECT 127.0.0.1:${port} HTTP/1.1\r\n\r\n`;
    const busy = dial(long.proxy);
    busy.write(open);
    const writing = (async () => {
      for (let round = 0; round < 40 && !busy.destroyed; round += 1) {
        busy.write("x");
        await delay(20);
      }
    })();

    expect(await say(idle.proxy, open)).toContain("200 Connection Established");
    expect(await say(idle.proxy, "GET ")).not.toContain("200");
    expect(await readAll(busy)).toContain("200 Connection Established");
    await writing;
  });

  it("stops a box that has moved its bytes of the hour, over all its connections", async () => {
    const port = await host((_request, response) => {
      response.end("x".repeat(100_000));
    });
    const { proxy, logger, clock, broker } = await serve({
      privateHosts: [`127.0.0.1:${port}`],
      limits: { maxBytesPerHour: 150_000 },
    });
    const request = get(`http://127.0.0.1:${port}/`);

    expect((await say(proxy, request)).length).toBeGreaterThan(100_000);
    expect((await say(proxy, request)).length).toBeLessThan(100_000);
    expect(await say(proxy, request)).toContain("429");
    const again = life.use(new RelayedSockets(broker));
    expect(await say(await again.listen(), request)).toContain("429");
    clock.advance(3_600_000);
    expect((await say(proxy, request)).length).toBeGreaterThan(100_000);
    expect(logger.lines.some(({ fields }) => fields.reason === "spent")).toBe(true);
  });

  it("tells at most 120 lines of a box in a minute, and then how many were left out", async () => {
    const { proxy, logger, clock } = await serve({ allowHosts: ["example.org"] });
    const many =
      get("http://a.test/").replace("Connection: close\r\n", "").repeat(49) + get("http://a.test/");
    for (let round = 0; round < 3; round += 1) await say(proxy, many);
    expect(logger.lines).toHaveLength(120);

    clock.advance(60_000);
    await say(proxy, get("http://a.test/"));

    expect(logger.lines.slice(120).map(({ fields }) => fields.count ?? fields.reason)).toEqual([30, "host"]);
  });

  it("takes a tunnel's TLS for its own name only", async () => {
    const port = await echoHost();
    const { proxy, logger } = await serve({
      privateHosts: [`good.test:${port}`],
      names: { "good.test": ["127.0.0.1"] },
    });
    const open = `CONNECT good.test:${port} HTTP/1.1\r\n\r\n`;
    const through = async (name: string): Promise<string> => {
      const socket = dial(proxy);
      socket.write(open);
      const hello = clientHello(name);
      socket.write(hello.subarray(0, 30));
      await delay(20);
      socket.end(hello.subarray(30));
      return readAll(socket);
    };

    expect(await through("good.test")).toContain("good.test");
    expect(await through("evil.test")).not.toContain("evil.test");
    await expect
      .poll(() => logger.lines.map(({ fields }) => fields.reason ?? "allowed"))
      .toEqual(["allowed", "name"]);
  });

  it("breaks off everything of a box whose relay is gone", async () => {
    const port = await echoHost();
    const { proxy, relay } = await serve({ privateHosts: [`127.0.0.1:${port}`] });
    const socket = dial(proxy);
    socket.write(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\n\r\n`);
    await new Promise((resolve) => {
      socket.once("data", resolve);
    });

    relay.drop();

    await expect.poll(() => relay.sockets.size).toBe(0);
  });

  it("makes a program wait that sends more than its host takes", async () => {
    let slow: Socket | undefined;
    const port = await listen(
      createServer((socket) => {
        slow = socket;
        socket.pause();
      }),
    );
    const { proxy } = await serve({ privateHosts: [`127.0.0.1:${port}`] });
    const socket = dial(proxy);
    socket.write(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\n\r\n`);
    let sent = 0;
    for (let isTaken = true; isTaken && sent < 100_000_000; ) {
      while (socket.write(Buffer.alloc(65_536))) sent += 65_536;
      sent += 65_536;
      isTaken = await drains(socket);
    }

    expect(slow?.bytesRead).toBeLessThan(30_000_000);
    expect(sent).toBeLessThan(40_000_000);
  });
});

function get(target: string, more = "", named?: string): string {
  return `GET ${target} HTTP/1.1\r\nHost: ${named ?? new URL(target).host}\r\nConnection: close\r\n${more}\r\n`;
}

async function readAll(socket: Socket): Promise<string> {
  const parts: Buffer[] = [];
  socket.on("data", (part) => {
    if (part instanceof Buffer) parts.push(part);
  });
  await new Promise<void>((resolve) => {
    socket.once("close", () => resolve());
    socket.once("end", () => {
      socket.end();
      resolve();
    });
  });
  return Buffer.concat(parts).toString("latin1");
}

/** @returns false when the socket takes nothing for a while */
async function drains(socket: Socket): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), 500);
    socket.once("drain", () => {
      clearTimeout(timer);
      resolve(true);
    });
  });
}

function bodyOf(answer: string): string {
  return answer
    .slice(answer.indexOf("\r\n\r\n") + 4)
    .replace(/^[0-9a-f]+\r\n|\r\n0\r\n\r\n$/g, "")
    .replace(/\r\n$/, "");
}

function clientHello(name: string): Buffer {
  const text = Buffer.from(name);
  const entry = Buffer.concat([Buffer.of(0, 0, text.length), text]);
  const list = Buffer.concat([Buffer.of(0, entry.length), entry]);
  const extension = Buffer.concat([Buffer.of(0, 0, 0, list.length), list]);
  const body = Buffer.concat([
    Buffer.of(3, 3),
    Buffer.alloc(32),
    Buffer.of(0, 0, 2, 0x13, 0x01, 1, 0, 0, extension.length),
    extension,
  ]);
  const handshake = Buffer.concat([Buffer.of(1, 0, 0, body.length), body]);
  return Buffer.concat([Buffer.of(22, 3, 1, 0, handshake.length), handshake]);
}
