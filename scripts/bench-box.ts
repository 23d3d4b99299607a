/**
 * Measures work in boxes as the service does it beside the ways around it, in one run: a plain exec through the engine's
 * API, the `docker` command where there is one, and the engine's archive calls (on a container of their own that runs
 * nothing). Writes bench-results/box.json. ROUNDS repeats (default 20); --boxes 32 adds a row. Needs berth-box:slim.
 */
import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { parseArgs, promisify } from "node:util";
import type Docker from "dockerode";
import type { BoxPlace } from "../src/ports/box-backend.js";
import type { BoxHandle } from "../src/ports/box-handle.js";
import { BenchEngine, FOREVER, pieces, run } from "./lib/bench-engine.js";
import { readMemoryKib } from "./lib/bench-memory.js";
import { median, percentile, type Series, summarise } from "./lib/bench-series.js";
import { packFile, packFiles } from "./lib/bench-tar.js";

const ROUNDS = Number(process.env["ROUNDS"] ?? 20);
const MB = 1_000_000;
const COMMANDS = {
  true: ["true"],
  "bash echo": ["bash", "-lc", "echo hi"],
  "python print": ["python3", "-c", "print(1)"],
} as const;

const call = promisify(execFile);
const rows: Series[] = [];

/** Measures ways to do the same thing, one after the other in every round, so that the load is the same for all. */
async function compare(
  what: string,
  ways: Readonly<Record<string, () => Promise<void>>>,
  rounds = ROUNDS,
): Promise<void> {
  const times = new Map<string, number[]>(Object.keys(ways).map((name) => [name, []]));
  for (let round = -1; round < rounds; round += 1)
    for (const [name, work] of Object.entries(ways)) {
      const begun = performance.now();
      await work();
      // The first round warms up.
      if (round >= 0) times.get(name)?.push(performance.now() - begun);
    }
  const series = summarise(what, times);
  rows.push(...series);
  for (const { way, medianMs, p95Ms, ratio } of series)
    say(
      `${what.padEnd(28)} ${way.padEnd(16)} ${medianMs.toFixed(1)} ms, p95 ${p95Ms.toFixed(1)}${ratio === 1 ? "" : `, ${ratio.toFixed(1)} x`}`,
    );
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function engineExec(
  container: Docker.Container,
  argv: readonly string[],
  uid: number,
): Promise<number> {
  const exec = await container.exec({
    Cmd: [...argv],
    User: `${uid}:${uid}`,
    AttachStdout: true,
    AttachStderr: true,
  });
  const stream = await exec.start({ hijack: true });
  let sizeBytes = 0;
  for await (const piece of stream) sizeBytes += Buffer.isBuffer(piece) ? piece.length : 0;
  return sizeBytes;
}

async function hasDockerCommand(): Promise<boolean> {
  return call("docker", ["version"]).then(
    () => true,
    () => false,
  );
}

async function drain(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const piece of stream) if (piece === null) return;
}

async function put(box: BoxHandle, files: ReadonlyMap<string, Uint8Array>): Promise<void> {
  const requests = [...files].map(([name, bytes]) => ({
    path: `/workspace/bench/${name}`,
    mode: "overwrite" as const,
    sizeBytes: bytes.length,
    content: pieces(bytes),
  }));
  const answers = await box.files.write(requests, FOREVER);
  if (!answers.every((answer) => answer.ok)) throw new Error("A file could not be written.");
}

async function get(box: BoxHandle, names: readonly string[], expectedBytes: number): Promise<void> {
  const requests = names.map((name) => ({
    path: `/workspace/bench/${name}`,
    offset: 0,
    length: Number.POSITIVE_INFINITY,
  }));
  let sizeBytes = 0;
  for await (const event of box.files.read(requests, FOREVER))
    if (event.type === "bytes") sizeBytes += event.bytes.length;
  if (sizeBytes !== expectedBytes) throw new Error(`${sizeBytes} bytes came out, ${expectedBytes} went in.`);
}

async function benchCommands(engine: BenchEngine, place: BoxPlace, box: BoxHandle): Promise<void> {
  const container = engine.docker.getContainer(place.container);
  const hasCommand = await hasDockerCommand();
  for (const [what, argv] of Object.entries(COMMANDS))
    await compare(what, {
      berth: async () => void (await run(box, argv)),
      "engine exec": async () => void (await engineExec(container, argv, place.uid)),
      ...(hasCommand
        ? { "docker exec": async () => void (await call("docker", ["exec", place.container, ...argv])) }
        : {}),
    });
  await compare(
    "100 MB of stdout",
    {
      berth: async () => void (await run(box, ["head", "-c", String(100 * MB), "/dev/zero"])),
      "engine exec": async () =>
        void (await engineExec(container, ["head", "-c", String(100 * MB), "/dev/zero"], place.uid)),
    },
    3,
  );
}

async function benchFiles(engine: BenchEngine, box: BoxHandle): Promise<void> {
  const still = await engine.stillContainer();
  for (const [what, size, rounds] of [
    ["1 KB", 1000, ROUNDS],
    ["1 MB", MB, ROUNDS],
    ["100 MB", 100 * MB, 3],
  ] as const) {
    const bytes = Buffer.alloc(size, 0x2a);
    const name = `file-${size}`;
    await compare(
      `${what} in`,
      {
        berth: async () => put(box, new Map([[name, bytes]])),
        archive: async () => void (await still.putArchive(packFile(name, bytes), { path: "/tmp" })),
      },
      rounds,
    );
    await compare(
      `${what} out`,
      {
        berth: async () => get(box, [name], size),
        archive: async () => drain(await still.getArchive({ path: `/tmp/${name}` })),
      },
      rounds,
    );
  }
  const many = new Map(Array.from({ length: 1000 }, (_none, i) => [`many/${i}`, Buffer.alloc(1000, 0x2a)]));
  await compare(
    "1000 files of 1 KB in",
    {
      berth: async () => put(box, many),
      archive: async () => void (await still.putArchive(packFiles(many), { path: "/tmp" })),
    },
    3,
  );
  await compare(
    "1000 files of 1 KB out",
    {
      berth: async () => get(box, [...many.keys()], MB),
      archive: async () => drain(await still.getArchive({ path: "/tmp/many" })),
    },
    3,
  );
}

/** Commands per second over several boxes, `true` in each of them over and over. */
async function benchMany(engine: BenchEngine, count: number): Promise<object> {
  const boxes = await Promise.all(Array.from({ length: count }, async () => engine.startBox()));
  const rate = async (work: (index: number) => Promise<void>): Promise<number> => {
    const until = performance.now() + 4000;
    let done = 0;
    const begun = performance.now();
    await Promise.all(
      boxes.map(async (_box, index) => {
        for (; performance.now() < until; done += 1) await work(index);
      }),
    );
    return done / ((performance.now() - begun) / 1000);
  };
  const berth = await rate(async (index) => void (await run(required(boxes[index]).box, ["true"])));
  const exec = await rate(async (index) => {
    const { place } = required(boxes[index]);
    await engineExec(engine.docker.getContainer(place.container), ["true"], place.uid);
  });
  const memory = await Promise.all(
    boxes.map(async ({ place }) => readMemoryKib(engine.docker, place.container)),
  );
  const result = {
    boxes: count,
    commandsPerSecond: { berth, engineExec: exec, ratio: berth / exec },
    idleKib: {
      helper: median(memory.map(({ helperKib }) => helperKib)),
      holder: median(memory.map(({ holderKib }) => holderKib)),
      shim: median(memory.map(({ shimKib }) => shimKib)),
    },
  };
  say(`${count} boxes: ${JSON.stringify(result)}`);
  for (const { box } of boxes) await box[Symbol.asyncDispose]();
  return result;
}

async function benchLife(engine: BenchEngine): Promise<object> {
  const [first, wake]: [number[], number[]] = [[], []];
  for (let round = 0; round < 5; round += 1) {
    const begun = performance.now();
    const { place, box } = await engine.startBox();
    await run(box, ["true"]);
    first.push(performance.now() - begun);
    await box[Symbol.asyncDispose]();
    await engine.backend.stop(place.container, FOREVER);
    const stopped = performance.now();
    await engine.backend.start(place, engine.settings, FOREVER);
    const woken = await engine.backend.open(place, FOREVER);
    await run(woken, ["true"]);
    wake.push(performance.now() - stopped);
    await woken[Symbol.asyncDispose]();
    await engine.backend.removeContainer(place.container, FOREVER);
  }
  const result = {
    firstExecOfNewSessionMs: { median: median(first), p95: percentile(first, 0.95) },
    wakeAfterStopMs: { median: median(wake), p95: percentile(wake, 0.95) },
  };
  say(JSON.stringify(result));
  return result;
}

function required<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error("There is no such box.");
  return value;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { boxes: { type: "string", multiple: true, default: ["1", "8"] } },
  });
  const loadBefore = loadavg();
  await using engine = new BenchEngine();
  const { place, box } = await engine.startBox();
  await benchCommands(engine, place, box);
  await benchFiles(engine, box);
  await box[Symbol.asyncDispose]();
  const life = await benchLife(engine);
  const many: object[] = [];
  for (const count of new Set([1, 8, ...values.boxes.map(Number)])) many.push(await benchMany(engine, count));
  const { Version: version } = await engine.docker.version();
  mkdirSync("bench-results", { recursive: true });
  const report = {
    at: new Date().toISOString(),
    engine: version,
    node: process.version,
    rounds: ROUNDS,
    load: { before: loadBefore, after: loadavg() },
    troubles: engine.troubles(),
    rows,
    life,
    many,
  };
  writeFileSync("bench-results/box.json", `${JSON.stringify(report, null, 2)}\n`);
  say("bench-results/box.json is written.");
}

await main();
