/** What goes through the broker of boxes with a network, and how much memory of the service that takes. */
import { createServer } from "node:http";
import { Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { HttpEgressBroker } from "../../src/adapters/egress/http-egress-broker.js";
import { SystemClock } from "../../src/adapters/system/system-clock.js";
import { EgressRules } from "../../src/domain/egress-rules.js";
import { BenchEngine, run } from "./bench-engine.js";
import type { Compare } from "./bench-life.js";

const BYTES = 100_000_000;
const PIECE = Buffer.alloc(65_536, 0x2a);
const ROUNDS = 3;
const SAMPLE_MS = 20;

export interface EgressMemory {
  /** What the service had more of, at most, while bytes went through it; the web server here included. */
  readonly peakGrowthMb: number;
}

export async function benchEgress(compare: Compare): Promise<EgressMemory> {
  const web = createServer((request, response) => {
    const answered =
      request.method === "GET"
        ? pipeline(Readable.from(pieces()), response)
        : pipeline(request, sink()).then(() => void response.end());
    answered.catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => {
    web.listen(0, "127.0.0.1", resolve);
  });
  const address = web.address();
  const host = `127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
  const broker = new HttpEgressBroker({
    rules: new EgressRules({ allowHosts: [], privateHosts: [host] }),
    limits: { maxConnections: 32, maxBytesPerHour: 1e12, connectionMs: 600_000, idleMs: 60_000 },
    secretHeaders: [],
    logger: { error: ignore, warn: ignore, info: ignore, debug: ignore },
    clock: new SystemClock(),
  });
  try {
    await using engine = new BenchEngine("helper", broker);
    const { box } = await engine.startBox({ network: "broker" });
    const curl = ["curl", "-sSf", "--noproxy", "", "-o", "/dev/null", `http://${host}/`];
    const up = `head -c ${BYTES} /dev/zero | ${curl.map((word) => `'${word}'`).join(" ")} -p -T -`;
    const growth = sampleGrowth();
    await compare(
      "100 MB through the broker",
      {
        "tunnel, in": async () => void (await run(box, [...curl, "-p"])),
        "plain, in": async () => void (await run(box, curl)),
        "tunnel, out": async () => void (await run(box, ["sh", "-c", up])),
      },
      ROUNDS,
    );
    await box[Symbol.asyncDispose]();
    return { peakGrowthMb: growth.stop() };
  } finally {
    await new Promise((resolve) => {
      web.close(resolve);
    });
  }
}

function ignore(): void {
  return undefined;
}

function* pieces(): Iterable<Uint8Array> {
  for (let left = BYTES; left > 0; left -= PIECE.length)
    yield PIECE.subarray(0, Math.min(left, PIECE.length));
}

function sink(): Writable {
  return new Writable({ write: (_chunk, _encoding, done) => done() });
}

function sampleGrowth(): { readonly stop: () => number } {
  const before = process.memoryUsage.rss();
  let peak = before;
  const timer = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss());
  }, SAMPLE_MS);
  return {
    stop: () => {
      clearInterval(timer);
      return Math.round((peak - before) / 1e6);
    },
  };
}
