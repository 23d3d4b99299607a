/**
 * Measures what a run costs besides model and tool: five rounds with one call of a tool each, then a text, on a scripted
 * model server in a process of its own. The same loop is done by the bare `openai` client, `@openai/agents`, `ai` and the
 * service, each in a process of its own, by turns; the service stores everything on disk. Prints figures and writes
 * bench-results/runs.json. RUNS says how many of each (default 200); --cpu-prof leaves profiles of the service there.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { z } from "zod";
import { BenchProcess } from "./lib/bench-process.js";
import { median, percentile } from "./lib/bench-series.js";

const { values: OPTIONS } = parseArgs({ options: { "cpu-prof": { type: "boolean", default: false } } });
const RUNS = Number(process.env["RUNS"] ?? 200);
const IN_A_TURN = 10;
const WARM_UP = 100;
const AT_ONCE = 20;
const GROWTH_RUNS = 1000;
const ROUNDS = 5;
const MB = 1_000_000;
const FRAMEWORKS = ["@openai/agents", "ai"] as const;
const WAYS = ["openai client", ...FRAMEWORKS, "berth", "berth over HTTP"] as const;
type Way = (typeof WAYS)[number];
const timesSchema = z.array(z.tuple([z.string(), z.number()]));

interface Row {
  readonly way: Way;
  readonly mode: "stream" | "whole";
  /** Milliseconds of a run, time of the model server taken off. */
  readonly medianMs: number;
  readonly p95Ms: number;
  readonly perRoundMs: number;
  /** Processor time of the process per run, one at a time and twenty at once. */
  readonly cpuMs: number;
  readonly cpuAtOnceMs: number;
  readonly runsPerSecondAtOnce: number;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function installPeers(): void {
  if (existsSync("bench/runs/node_modules/.package-lock.json")) return;
  say("Installing what is measured beside the service, into bench/runs: npm ci.");
  execFileSync("npm", ["ci", "--no-audit", "--no-fund", "--ignore-scripts"], {
    cwd: "bench/runs",
    stdio: "inherit",
  });
}

/** What the processes of all ways stand on. */
class Bench {
  readonly #url: string;
  readonly #processes: ReadonlyMap<Way, BenchProcess>;
  #next = 1;

  constructor(url: string, processes: ReadonlyMap<Way, BenchProcess>) {
    this.#url = url;
    this.#processes = processes;
  }

  /** @returns what the process says, with the milliseconds of the model server by run */
  async work(way: Way, order: { runs: number; atOnce: number; isStream: boolean }) {
    const worker = this.#processes.get(way);
    if (worker === undefined) throw new Error(`${way} is not started.`);
    const first = this.#next;
    this.#next += order.runs;
    const report = await worker.work({ first, ...order });
    const answer: unknown = await (await fetch(`${this.#url}/times`)).json();
    const model = new Map(timesSchema.parse(answer));
    const own = report.times.map((ms, index) => ms - (model.get(String(first + index)) ?? 0));
    return { ...report, own };
  }
}

async function measure(bench: Bench, isStream: boolean): Promise<readonly Row[]> {
  const own = new Map<Way, number[]>();
  const cpu = new Map<Way, number[]>();
  const together = new Map<Way, { cpuMs: number[]; elapsedMs: number[] }>();
  for (const way of WAYS) {
    own.set(way, []);
    cpu.set(way, []);
    together.set(way, { cpuMs: [], elapsedMs: [] });
    await bench.work(way, { runs: WARM_UP, atOnce: 1, isStream });
  }
  for (let done = 0; done < RUNS; done += IN_A_TURN)
    for (const way of WAYS) {
      const found = await bench.work(way, { runs: IN_A_TURN, atOnce: 1, isStream });
      own.get(way)?.push(...found.own);
      cpu.get(way)?.push(found.cpuMs / IN_A_TURN);
    }
  for (let done = 0; done < RUNS; done += AT_ONCE)
    for (const way of WAYS) {
      const found = await bench.work(way, { runs: AT_ONCE, atOnce: AT_ONCE, isStream });
      together.get(way)?.cpuMs.push(found.cpuMs / AT_ONCE);
      together.get(way)?.elapsedMs.push(found.elapsedMs / AT_ONCE);
    }
  return WAYS.map((way) => {
    const times = own.get(way) ?? [];
    const { cpuMs: cpuAtOnce = [], elapsedMs = [] } = together.get(way) ?? {};
    const medianMs = median(times);
    return {
      way,
      mode: isStream ? "stream" : "whole",
      medianMs,
      p95Ms: percentile(times, 0.95),
      perRoundMs: medianMs / (ROUNDS + 1),
      cpuMs: median(cpu.get(way) ?? []),
      cpuAtOnceMs: median(cpuAtOnce),
      runsPerSecondAtOnce: 1000 / median(elapsedMs),
    };
  });
}

/** What memory a thousand runs leave behind. */
async function measureGrowth(bench: Bench, way: Way) {
  const before = await bench.work(way, { runs: WARM_UP, atOnce: AT_ONCE, isStream: true });
  const after = await bench.work(way, { runs: GROWTH_RUNS, atOnce: AT_ONCE, isStream: true });
  return {
    way,
    heapMb: (after.heapBytes - before.heapBytes) / MB,
    rssMb: (after.rssBytes - before.rssBytes) / MB,
  };
}

function describeRow(row: Row): string {
  const { way, mode, medianMs, p95Ms, perRoundMs, cpuMs, cpuAtOnceMs, runsPerSecondAtOnce } = row;
  const cells = [medianMs, p95Ms, perRoundMs, cpuMs, cpuAtOnceMs, runsPerSecondAtOnce];
  return `${mode.padEnd(7)}${way.padEnd(16)}${cells.map((cell) => cell.toFixed(2).padStart(11)).join("")}`;
}

/** The service against the faster of the two frameworks. */
function judge(rows: readonly Row[]) {
  return (["whole", "stream"] as const).flatMap((mode) => {
    const of = (way: Way) => rows.find((row) => row.way === way && row.mode === mode);
    return (["medianMs", "cpuMs", "cpuAtOnceMs"] as const).map((figure) => {
      const fastest = Math.min(...FRAMEWORKS.map((way) => of(way)?.[figure] ?? Number.NaN));
      const found = of("berth")?.[figure] ?? Number.NaN;
      return { mode, figure, found, fastest, isMet: found <= fastest };
    });
  });
}

async function main(): Promise<void> {
  installPeers();
  const loadBefore = loadavg();
  mkdirSync("bench-results", { recursive: true });
  await using model = new BenchProcess("scripts/bench-model-server.ts", []);
  const url = z.string().parse(await model.ready());
  const profile = OPTIONS["cpu-prof"] ? ["--cpu-prof", "--cpu-prof-dir=bench-results"] : [];
  const start = (way: Way): BenchProcess =>
    way.startsWith("berth")
      ? new BenchProcess("scripts/bench-runs-berth.ts", [way, url], profile)
      : new BenchProcess("bench/runs/peers.mjs", [way, url]);
  const processes = new Map(WAYS.map((way): [Way, BenchProcess] => [way, start(way)]));
  try {
    await Promise.all([...processes.values()].map((each) => each.ready()));
    const bench = new Bench(url, processes);
    say(`Load: ${loadBefore.map((load) => load.toFixed(1)).join(" ")}. Own time, in ms per run:`);
    say(`${" ".repeat(23)}     median        p95  per round        cpu  cpu at 20  runs/s at 20`);
    const rows: Row[] = [];
    for (const isStream of [false, true]) {
      const found = await measure(bench, isStream);
      for (const row of found) say(describeRow(row));
      rows.push(...found);
    }
    const growth = [];
    for (const way of WAYS) growth.push(await measureGrowth(bench, way));
    for (const { way, heapMb, rssMb } of growth)
      say(
        `${way}: ${GROWTH_RUNS} runs leave ${heapMb.toFixed(1)} MB of heap, ${rssMb.toFixed(1)} MB resident.`,
      );
    const targets = judge(rows);
    for (const { mode, figure, found, fastest, isMet } of targets)
      say(
        `${isMet ? "met     " : "NOT MET "} ${mode} ${figure}: ${found.toFixed(2)}, fastest framework ${fastest.toFixed(2)}`,
      );
    const load = { before: loadBefore, after: loadavg() };
    const report = {
      at: new Date().toISOString(),
      node: process.version,
      runs: RUNS,
      load,
      rows,
      growth,
      targets,
    };
    writeFileSync("bench-results/runs.json", `${JSON.stringify(report, null, 2)}\n`);
    say("bench-results/runs.json is written.");
  } finally {
    await Promise.all([...processes.values()].map((each) => each[Symbol.asyncDispose]()));
  }
}

await main();
