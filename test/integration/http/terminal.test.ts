/** Terminals over real WebSockets, with honest and hostile clients (api §4, box §14.4). */
import { once } from "node:events";
import { IncomingMessage } from "node:http";
import { connect } from "node:net";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { WebSocket } from "ws";
import type { SessionId } from "../../../src/domain/ids.js";
import { exited, type FakeCommand, printed } from "../../fakes/fake-box-commands.js";
import {
  ADMIN_KEY,
  CLIENT_KEY,
  type HttpService,
  OTHER_ADMIN_KEY,
  startHttpService,
} from "../../support/http-service.js";

/** A shell that says its size at the beginning, repeats lines, says its size for `size`, floods for `yes` and ends for `exit`. */
const commands: FakeCommand = ({ input, size }) =>
  input === undefined ? null : shell(input, () => `${size?.()?.rows} ${size?.()?.columns}`);

async function* shell(
  input: NonNullable<Parameters<FakeCommand>[0]["input"]>,
  size: () => string,
): ReturnType<typeof run> {
  yield* run(input, size);
}

async function* run(input: NonNullable<Parameters<FakeCommand>[0]["input"]>, size: () => string) {
  yield printed(`size ${size()}\n`);
  for (let bytes = await input.next(); bytes !== null; bytes = await input.next()) {
    const line = Buffer.from(bytes).toString();
    if (line === "exit") break;
    if (line === "yes") for (;;) yield printed("y\n".repeat(8192));
    yield line === "size" ? printed(`size ${size()}\n`) : printed(line);
  }
  yield exited(7);
}

/** A client that keeps what it hears. */
class Client {
  readonly socket: WebSocket;
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
  bytes = "";
  readonly messages: string[] = [];

  constructor(url: string, key: string | null = ADMIN_KEY, headers: Record<string, string> = {}) {
    const authorization = key === null ? {} : { authorization: `Bearer ${key}` };
    this.socket = new WebSocket(url, { headers: { ...authorization, ...headers } });
    this.socket.on("message", (data, isBinary) => {
      const text = Buffer.isBuffer(data) ? data.toString() : "";
      if (isBinary) this.bytes += text;
      else this.messages.push(text);
    });
    this.socket.on("error", () => undefined);
    this.closed = new Promise((resolve) => {
      this.socket.on("close", (code, reason) => resolve({ code, reason: reason.toString() }));
    });
  }

  async saw(part: string): Promise<void> {
    await vi.waitFor(
      () => {
        if (!(this.bytes + this.messages.join("\n")).includes(part)) throw new Error(`No ${part} yet.`);
      },
      { timeout: 5000 },
    );
  }

  /** The answer instead of the upgrade. */
  async refused(): Promise<IncomingMessage> {
    const told: readonly unknown[] = await once(this.socket, "unexpected-response");
    const response = told[1];
    if (response instanceof IncomingMessage) return response;
    throw new Error("The upgrade was not refused.");
  }

  /** @returns the id of its terminal */
  async open(): Promise<string> {
    await this.saw('"terminal"');
    const [, id] = /"id":"(term_\w+)"/.exec(this.messages[0] ?? "") ?? [];
    return id ?? "";
  }

  type(text: string): void {
    this.socket.send(Buffer.from(text));
  }
}

describe("terminals over WebSocket", () => {
  let service: HttpService;
  let id: SessionId;
  let url: string;
  const clients: Client[] = [];

  beforeEach(async () => {
    service = await startHttpService({ commands });
    const call = { signal: new AbortController().signal };
    ({ id } = await service.boxes.findOrCreateSession("main", { key: "person_42", identity: "1" }, call));
    url = `${service.url.replace("http", "ws")}/v1/sessions/${id}/terminal`;
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) client.socket.terminate();
    await service[Symbol.asyncDispose]();
  });

  const open = (query = "", key: string | null = ADMIN_KEY, headers: Record<string, string> = {}): Client => {
    const client = new Client(`${url}${query}`, key, headers);
    clients.push(client);
    return client;
  };

  it("carry bytes both ways, take sizes, and tell the end with its code", async () => {
    const client = open("?rows=30&columns=100");
    await client.saw("size 30 100");
    client.type("hello");
    await client.saw("hello");
    client.socket.send(JSON.stringify({ type: "resize", rows: 40, columns: 120 }));
    client.type("size");
    await client.saw("size 40 120");
    client.type("exit");
    expect(await client.closed).toMatchObject({ code: 1000 });
    expect(client.messages.at(-1)).toContain('"exit_code":7');
    expect(service.terminals.count).toBe(0);
  });

  it("outlive their connection and are connected to again, with what they said", async () => {
    const first = open();
    const terminal = await first.open();
    first.type("before");
    await first.saw("before");
    first.socket.terminate();
    await first.closed;
    const again = open(`?terminal=${terminal}&rows=50&columns=60`);
    await again.saw("before");
    again.type("size");
    await again.saw("size 50 60");
    const taker = open(`?terminal=${terminal}`);
    expect(await again.closed).toMatchObject({ code: 4000 });
    taker.type("after");
    await taker.saw("after");
    expect(service.terminals.count).toBe(1);
    service.clock.advance(31 * 60_000);
    await service.terminals.closeAbandoned();
    expect(service.terminals.count).toBe(1);
    taker.socket.close();
    await taker.closed;
    await expect
      .poll(async () => {
        service.clock.advance(31 * 60_000);
        await service.terminals.closeAbandoned();
        return service.terminals.count;
      })
      .toBe(0);
  });

  it.each([
    { what: "no key", key: null, query: "", status: 401 },
    { what: "a wrong key", key: "x".repeat(40), query: "", status: 401 },
    { what: "a client key", key: CLIENT_KEY, query: "", status: 403 },
    { what: "another tenant's key", key: OTHER_ADMIN_KEY, query: "", status: 404 },
    { what: "an unknown terminal", key: ADMIN_KEY, query: "?terminal=term_none", status: 404 },
    { what: "an impossible size", key: ADMIN_KEY, query: "?rows=0", status: 400 },
    { what: "an unknown field", key: ADMIN_KEY, query: "?size=9", status: 400 },
  ])("refuse $what before the upgrade, as HTTP does", async ({ key, query, status }) => {
    const client = open(query, key);
    const response = await client.refused();
    expect(response.statusCode).toBe(status);
    expect(response.headers["content-type"]).toContain("application/json");
    expect(response.headers["x-request-id"]).toMatch(/^req_/);
    expect(service.terminals.count).toBe(0);
    await expect.poll(() => service.logger.lines.map(({ fields }) => fields["status"])).toContain(status);
  });

  it("refuse a plain request, and more terminals than there may be", async () => {
    const plain = await service.fetch(`/v1/sessions/${id}/terminal`, { key: ADMIN_KEY });
    expect(plain.status).toBe(400);
    await Promise.all([open().open(), open().open(), open().open()]);
    const response = await open().refused();
    expect(response.statusCode).toBe(429);
  });

  it("close for frames that are too long or say nothing known, and the service goes on", async () => {
    const ends: number[] = [];
    for (const frame of [
      Buffer.alloc(65 * 1024),
      "{",
      "[]",
      '{"type":"resize"}',
      '{"type":"x"}',
      "x".repeat(65_600),
    ]) {
      const client = open();
      await client.open();
      client.socket.send(frame);
      ends.push((await client.closed).code);
      await service.boxes.status({ signal: new AbortController().signal });
      for (const terminal of [/"id":"(term_\w+)"/.exec(client.messages[0] ?? "")?.[1] ?? ""])
        await service.terminals.find(id, terminal).process.kill();
    }
    expect(ends).toEqual([1009, 1007, 1007, 1007, 1007, 1009]);
    const well = open();
    await well.saw("size");
  });

  it("hold up a client that types faster than the process reads, and one that does not read a flood", async () => {
    const client = open();
    const terminal = await client.open();
    client.type("yes");
    await client.saw("y");
    client.socket.pause();
    const { process } = service.terminals.find(id, terminal);
    let last = -1;
    await expect
      .poll(
        () => {
          const before = last;
          last = process.output.end;
          return last - before;
        },
        { interval: 300, timeout: 20_000 },
      )
      .toBe(0);
    for (let i = 0; i < 2000; i += 1) client.type("x".repeat(1024));
    client.socket.ping();
    await process.kill();
    client.socket.resume();
    expect((await client.closed).code).toBe(1000);
  });

  it("drop a client that gives no sign of life", async () => {
    await using impatient = await startHttpService({
      commands,
      streamTiming: { heartbeatMs: 200, stallMs: 60_000 },
    });
    const call = { signal: new AbortController().signal };
    const key = { key: "person_42", identity: "1" };
    const session = await impatient.boxes.findOrCreateSession("main", key, call);
    const { port } = impatient;
    const silent = connect(port, "127.0.0.1");
    silent.on("error", () => undefined);
    silent.write(
      `GET /v1/sessions/${session.id}/terminal HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
        `Authorization: Bearer ${ADMIN_KEY}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
    );
    let heard = "";
    silent.on("data", (bytes) => {
      heard += bytes.toString("latin1");
    });
    await once(silent, "close");
    expect(heard).toContain("101 Switching Protocols");
    expect(impatient.terminals.count).toBe(1);
  });

  it("end with the service: the client hears it, and the port closes", async () => {
    const client = open();
    await client.open();
    await service.listener.close(0);
    expect(await client.closed).toMatchObject({ code: 1001 });
  });

  it("leave other wishes for another protocol to plain HTTP", async () => {
    const body = JSON.stringify({ command: "sleep 1000", id: "a" });
    const socket = connect(service.port, "127.0.0.1");
    socket.write(
      `POST /v1/sessions/${id}/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n` +
        `HTTP2-Settings: AAMAAABkAAQAAP__\r\nAuthorization: Bearer ${ADMIN_KEY}\r\nContent-Type: application/json\r\n` +
        `Content-Length: ${body.length}\r\n\r\n${body.slice(0, 5)}`,
    );
    socket.write(body.slice(5));
    let heard = "";
    socket.on("data", (bytes) => {
      heard += bytes.toString();
    });
    await once(socket, "close");
    expect(heard).toContain("HTTP/1.1 200 OK");
    expect(heard).toContain('"object":"job"');
    const elsewhere = new Client(`${service.url.replace("http", "ws")}/v1/models`);
    const response = await elsewhere.refused();
    expect(response.statusCode).toBe(404);
  });
});

describe("terminals of a service without keys", () => {
  it("refuse pages of other sites", async () => {
    await using service = await startHttpService({ commands, keys: [] });
    const call = { signal: new AbortController().signal };
    const { id } = await service.boxes.findOrCreateSession("main", { key: "a", identity: "1" }, call);
    const url = `${service.url.replace("http", "ws")}/v1/sessions/${id}/terminal`;
    const foreign = new Client(url, null, { origin: "https://evil.example" });
    const response = await foreign.refused();
    expect(response.statusCode).toBe(403);
    const own = new Client(url, null, { origin: "http://localhost:3000" });
    await own.open();
    own.socket.terminate();
    await own.closed;
  });
});
