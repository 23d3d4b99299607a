/** Machines near a box that it must not reach, each with an address of its own: the host, and another beside it (box §10.6). */
import { createServer } from "node:http";
import { networkInterfaces } from "node:os";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BoxdHelper } from "../../src/adapters/boxd/boxd-helper.js";
import { HttpEgressBroker } from "../../src/adapters/egress/http-egress-broker.js";
import { SystemClock } from "../../src/adapters/system/system-clock.js";
import { type EgressLists, EgressRules } from "../../src/domain/egress-rules.js";
import { CleanupStack } from "../../src/lib/cleanup-stack.js";
import type { BoxHandle } from "../../src/ports/box-handle.js";
import { run } from "../contracts/box-backend.js";
import { KeptLogger } from "../fakes/kept-logger.js";
import { HELPER_IMAGE, hasEngine, TestEngine } from "../support/engine.js";
import { hasNamespaces, Neighbour } from "../support/neighbour.js";

const CURL = "curl -s -m 5";
/** Of the engine, where its standard network is as it comes. */
const GATEWAY = "172.17.0.1";

describe.skipIf(!hasEngine() || !hasNamespaces())("a box beside other machines", () => {
  let life: CleanupStack;
  const asked: string[] = [];
  const web = createServer((request, response) => {
    asked.push(`${request.headers.host}${request.url}`);
    response.end("host");
  });
  let neighbour: Neighbour;
  let port: number;

  beforeAll(async () => {
    life = new CleanupStack();
    await new Promise<void>((resolve) => {
      web.listen(0, "0.0.0.0", resolve);
    });
    life.defer(async () => {
      web.closeAllConnections();
      await new Promise((resolve) => {
        web.close(resolve);
      });
    });
    const address = web.address();
    port = typeof address === "object" && address !== null ? address.port : 0;
    neighbour = life.use(await Neighbour.start());
  });
  afterAll(async () => {
    await life[Symbol.asyncDispose]();
  });

  const startBox = async (lists: EgressLists | null): Promise<BoxHandle> => {
    const [clock, logger] = [new SystemClock(), new KeptLogger()];
    const names: Readonly<Record<string, string>> = {
      "wiki.test": neighbour.address.private,
      "inside.test": neighbour.address.private,
      "host.test": neighbour.host.public,
    };
    const resolve = async (name: string) => Promise.resolve([names[name] ?? "0.0.0.0"]);
    const broker = new HttpEgressBroker({
      rules: new EgressRules(lists ?? { allowHosts: [], privateHosts: [] }),
      limits: { maxConnections: 8, maxBytesPerHour: 1e9, connectionMs: 60_000, idleMs: 30_000 },
      secretHeaders: [],
      logger,
      clock,
      resolvers: { anyName: resolve, listedName: resolve },
    });
    const helper = new BoxdHelper({ image: HELPER_IMAGE, clock, logger, broker });
    const engine = life.use(new TestEngine("helper", helper));
    const { box } = await engine.startBox({ network: lists === null ? "none" : "broker" });
    life.use(box);
    return box;
  };

  it("reaches no private address and not its host, whatever is allowed, and another public address", async () => {
    const { address, host } = neighbour;
    expect(hostAddresses()).toEqual(expect.arrayContaining([host.private, host.public]));
    const refused = [
      ...hostAddresses().map((own) => `${own}:${port}`),
      `${address.private}:80`,
      `${address.private}:8080`,
      "inside.test:8080",
      `host.test:${port}`,
    ];
    const box = await startBox({ allowHosts: [...refused, address.public], privateHosts: [] });
    const [hostBefore, before] = [asked.length, neighbour.requests.length];

    const answers = await shell(box, refused.flatMap(codes));
    expect(answers.trim().split("\n")).toEqual(refused.flatMap(() => ["403", "403"]));
    expect(asked.slice(hostBefore)).toEqual([]);
    expect(neighbour.requests.slice(before)).toEqual([]);

    expect(await shell(box, [`${CURL} http://${address.public}/seen`])).toBe("neighbour 80");
    expect(neighbour.requests.slice(before)).toEqual([`${address.public}:80/seen`]);
  });

  it("reaches public addresses alone where every host is allowed, and its host not even there", async () => {
    const { address, host } = neighbour;
    const box = await startBox({ allowHosts: [], privateHosts: [] });
    const refused = [host.public, host.private, GATEWAY, address.private, "host.test", "inside.test"];

    const answers = await shell(box, refused.flatMap(codes));
    expect(answers.trim().split("\n")).toEqual(refused.flatMap(() => ["403", "403"]));
    expect(await shell(box, [`${CURL} -p http://${address.public}/any`])).toBe("neighbour 80");
  });

  it("reaches a private host at the port that the operator listed, and at no other, by no other name and by no other way", async () => {
    const { address } = neighbour;
    const box = await startBox({
      allowHosts: [],
      privateHosts: ["wiki.test:8080", `${address.private}:8080`],
    });
    const before = neighbour.requests.length;

    expect(
      await shell(box, [
        `${CURL} http://wiki.test:8080/a; echo`,
        `${CURL} -p http://wiki.test:8080/b; echo`,
        `${CURL} http://${address.private}:8080/c; echo`,
      ]),
    ).toBe("neighbour 8080\n".repeat(3));
    expect((await shell(box, ["wiki.test:80", "inside.test"].flatMap(codes))).trim().split("\n")).toEqual(
      Array(4).fill("403"),
    );
    expect(neighbour.requests.slice(before).map((line) => line.slice(-2))).toEqual(["/a", "/b", "/c"]);
    expect(await reached(box)).toEqual([]);
  });

  it("has no way of its own to any of them without a network", async () => {
    expect(await reached(await startBox(null))).toEqual([]);
  });

  /** What its programs reach by themselves, without the proxy. */
  async function reached(box: BoxHandle): Promise<readonly string[]> {
    const { address } = neighbour;
    const [hostBefore, before] = [asked.length, neighbour.requests.length];
    const urls = [
      ...hostAddresses()
        .filter((own) => own !== "127.0.0.1")
        .map((own) => `http://${own}:${port}/`),
      ...[address.private, address.public].flatMap((one) => [`http://${one}/`, `http://${one}:8080/`]),
    ];
    const said = await shell(
      box,
      urls.map((url) => `${CURL} --noproxy '*' -o /dev/null ${url}; echo $?`),
    );
    const codesOf = said.trim().split("\n");
    // 7 = could not connect.
    const open = urls.filter((_url, index) => codesOf[index] !== "7");
    return [...open, ...asked.slice(hostBefore), ...neighbour.requests.slice(before)];
  }
});

async function shell(box: BoxHandle, lines: readonly string[]): Promise<string> {
  return (await run(box, ["sh", "-c", lines.join("\n")])).stdout;
}

/** Commands that say what the proxy answers for a host and port: to a plain request and to a tunnel. */
function codes(authority: string): readonly string[] {
  return [
    `${CURL} -o /dev/null -w '%{http_code}\\n' -x $http_proxy --noproxy '' http://${authority}/plain`,
    `${CURL} -o /dev/null -w '%{http_connect}\\n' -x $http_proxy --noproxy '' -p http://${authority}/tunnel`,
  ];
}

function hostAddresses(): readonly string[] {
  const own = Object.values(networkInterfaces()).flatMap((all = []) => all);
  const found = own.filter(({ family }) => family === "IPv4").map(({ address }) => address);
  return [...new Set([...found, GATEWAY])];
}
