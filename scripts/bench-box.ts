/**
 * Measures work in boxes as the service does it beside the ways around it, in one run: a plain exec through the engine's
 * API, the `docker` command where there is one, and the engine's archive calls (on a container of their own that runs
 * nothing). Prints each figure beside its target and writes bench-results/box.json. ROUNDS repeats (default 20),
 * --boxes says over how many boxes (default 1, 8 and 32), --exec-stream leaves sockets aside, --only measures what has
 * this text in its name, without lives, broker and many boxes. Needs berth-box:slim.
 */
import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs, promisify } from "node:util";
import type Docker from "dockerode";
import type { BoxPlace } from "../src/ports/box-backend.js";
import type { BoxHandle } from "../src/ports/box-handle.js";
import { benchEgress } from "./lib/bench-egress.js";
import { BenchEngine, FOREVER, pieces, run } from "./lib/bench-engine.js";
import { engineExec } from "./lib/bench-exec.js";
import { benchLife, type PreparedWork, type Way } from "./lib/bench-life.js";
import { benchMany, describeMany, type ManyBoxes } from "./lib/bench-many.js";
import { benchNewChat } from "./lib/bench-new-chat.js";
import { type Series, summarise } from "./lib/bench-series.js";
import { packFile, packFiles } from "./lib/bench-tar.js";
import { describeTarget, judge } from "./lib/bench-targets.js";

const { values: OPTIONS } = parseArgs({
  options: {
    boxes: { type: "string", multiple: true, default: ["1", "8", "32"] },
    "exec-stream": { type: "boolean", default: false },
    only: { type: "string" },
  },
});
const ROUNDS = Number(process.env["ROUNDS"] ?? 20);
const MIN_ROUNDS_FOR_TURNS = 20;
const IN_A_TURN = 5;
/** What is measured is a service that has run for a while, not the compiling of its first calls. */
const WARM_UP = 10 * IN_A_TURN;
const SETTLE_MS = 200;
const MB = 1_000_000;
const COMMANDS = {
  true: ["true"],
  "bash echo": ["bash", "-lc", "echo hi"],
  "python print": ["python3", "-c", "print(1)"],
} as const;

const call = promisify(execFile);
const rows: Series[] = [];

/**
 * Measures ways to do the same thing, by turns in every round, so that the load is the same for all. Engines go on
 * clearing up after they have answered: each turn begins when that is over, or one way would pay for the other.
 */
async function compare(what: string, ways: Readonly<Record<string, Way>>, rounds = ROUNDS): Promise<void> {
  if (!what.includes(OPTIONS.only ?? "")) return;
  const times = new Map<string, number[]>(Object.keys(ways).map((name) => [name, []]));
  const turn = rounds >= MIN_ROUNDS_FOR_TURNS ? IN_A_TURN : 1;
  const warmUp = rounds >= MIN_ROUNDS_FOR_TURNS ? WARM_UP : turn;
  for (let done = -warmUp; done < rounds; done += turn)
    for (const [name, way] of Object.entries(ways)) {
      await delay(SETTLE_MS);
      const found = await takeTurn(typeof way === "function" ? { work: way } : way, turn);
      if (done >= 0) times.get(name)?.push(...found);
    }
  const series = summarise(what, times);
  rows.push(...series);
  for (const { way, medianMs, p95Ms, leastMs, ratio } of series)
    say(
      `${what.padEnd(28)} ${way.padEnd(16)} ${medianMs.toFixed(1)} ms, p95 ${p95Ms.toFixed(1)}, least ${leastMs.toFixed(1)}${ratio === 1 ? "" : `, ${ratio.toFixed(1)} x`}`,
    );
}

/** @returns milliseconds of each */
async function takeTurn({ before, work, after }: PreparedWork, times: number): Promise<readonly number[]> {
  const found: number[] = [];
  for (let i = 0; i < times; i += 1) {
    await before?.();
    const begun = performance.now();
    await work();
    found.push(performance.now() - begun);
    await after?.();
  }
  return found;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
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

/** Every round brings new files, as attachments and results of a run are. */
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

function manyFiles(folder: string): ReadonlyMap<string, Uint8Array> {
  return new Map(Array.from({ length: 1000 }, (_none, i) => [`${folder}/${i}`, Buffer.alloc(1000, 0x2a)]));
}

async function benchFiles(engine: BenchEngine, box: BoxHandle): Promise<void> {
  const still = await engine.stillContainer();
  let round = 0;
  const fresh = (): string => `round-${(round += 1)}`;
  for (const [what, size, rounds] of [
    ["1 KB", 1000, ROUNDS],
    ["1 MB", MB, ROUNDS],
    ["100 MB", 100 * MB, 3],
  ] as const) {
    const bytes = Buffer.alloc(size, 0x2a);
    await compare(
      `${what} in`,
      {
        berth: async () => put(box, new Map([[`in/${what}/${fresh()}`, bytes]])),
        archive: async () => void (await still.putArchive(packFile(fresh(), bytes), { path: "/tmp" })),
      },
      rounds,
    );
    await put(box, new Map([[`out-${size}`, bytes]]));
    await still.putArchive(packFile(`out-${size}`, bytes), { path: "/tmp" });
    await compare(
      `${what} out`,
      {
        berth: async () => get(box, [`out-${size}`], size),
        archive: async () => drain(await still.getArchive({ path: `/tmp/out-${size}` })),
      },
      rounds,
    );
    await run(box, ["rm", "-rf", `/workspace/bench/in/${what}`]);
  }
  await benchManyFiles(box, { still, fresh });
}

async function benchManyFiles(
  box: BoxHandle,
  { still, fresh }: { readonly still: Docker.Container; readonly fresh: () => string },
): Promise<void> {
  await compare(
    "1000 files of 1 KB in",
    {
      berth: async () => put(box, manyFiles(fresh())),
      archive: async () => void (await still.putArchive(packFiles(manyFiles(fresh())), { path: "/tmp" })),
    },
    5,
  );
  await put(box, manyFiles("many"));
  await still.putArchive(packFiles(manyFiles("many")), { path: "/tmp" });
  await compare(
    "1000 files of 1 KB out",
    {
      berth: async () => get(box, [...manyFiles("many").keys()], MB),
      archive: async () => drain(await still.getArchive({ path: "/tmp/many" })),
    },
    5,
  );
}

async function main(): Promise<void> {
  const loadBefore = loadavg();
  await using engine = new BenchEngine(OPTIONS["exec-stream"] ? "helper_by_exec" : "helper");
  const { place, box } = await engine.startBox();
  const { transport } = await engine.backend.probe(FOREVER);
  say(
    `Boxes are reached by: ${transport ?? "nothing"}. Load: ${loadBefore.map((load) => load.toFixed(1)).join(" ")}.`,
  );
  await benchCommands(engine, place, box);
  await benchFiles(engine, box);
  await box[Symbol.asyncDispose]();
  await benchNewChat(engine.docker, compare);
  if (OPTIONS.only !== undefined) return;
  await benchLife(engine, compare);
  const egress = await benchEgress(compare);
  say(`100 MB through the broker took at most ${egress.peakGrowthMb} MB of memory more.`);
  const many: ManyBoxes[] = [];
  for (const count of OPTIONS.boxes.map(Number)) {
    const found = await benchMany(engine, count);
    many.push(found);
    say(describeMany(found));
  }
  const targets = judge(rows, many);
  for (const line of targets.map(describeTarget)) say(line);
  const { Version: version } = await engine.docker.version();
  mkdirSync("bench-results", { recursive: true });
  const report = {
    at: new Date().toISOString(),
    engine: version,
    node: process.version,
    transport,
    rounds: ROUNDS,
    load: { before: loadBefore, after: loadavg() },
    troubles: engine.troubles(),
    rows,
    many,
    egress,
    targets,
  };
  writeFileSync("bench-results/box.json", `${JSON.stringify(report, null, 2)}\n`);
  say("bench-results/box.json is written.");
}

await main();
