/**
 * Proves that nothing foreign leaves a box and nothing outside its workspace is touched while a process in it swaps what
 * paths are (security §11.1). SECONDS_PER_SWAP for each swap and operation (default 20); both ways into a box. Prints a
 * table and writes bench-results/races.json. Needs the images berth-box:slim and berth-boxd:latest.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { type RaceRow, runRaces } from "../test/support/races/run-races.js";
import { BenchEngine } from "./lib/bench-engine.js";

const SECONDS = Number(process.env["SECONDS_PER_SWAP"] ?? 20);
const COLUMNS = ["attempts", "served", "foreign", "torn", "hangs", "lost", "wroteOutside"] as const;
const rows: RaceRow[] = [];

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function tell(row: RaceRow): void {
  rows.push(row);
  const name = [row.transport, row.operation, row.swap].map((text) => text.padEnd(10)).join(" ");
  say(`${name} ${COLUMNS.map((column) => String(Number(row[column])).padStart(12)).join(" ")}`);
}

const startedAt = new Date().toISOString();
const loadBefore = loadavg();
say(`${" ".repeat(32)} ${COLUMNS.map((column) => column.padStart(12)).join(" ")}`);
for (const transport of ["helper", "engine"] as const) {
  await using engine = new BenchEngine(transport);
  const track = {
    transport,
    msPerSwap: SECONDS * 1000,
    settings: engine.settings,
    startBox: () => engine.startBox(),
    volumePath: async (volume: string) => (await engine.docker.getVolume(volume).inspect()).Mountpoint,
  };
  await runRaces(track, tell);
}
const sum = (column: (typeof COLUMNS)[number]): number =>
  rows.reduce((total, row) => total + Number(row[column]), 0);
const totals = Object.fromEntries(COLUMNS.map((column) => [column, sum(column)]));
say(
  `All together: ${JSON.stringify(totals)}; load ${loadBefore.join(" ")} before, ${loadavg().join(" ")} after.`,
);
mkdirSync("bench-results", { recursive: true });
const facts = { startedAt, node: process.version, secondsPerSwap: SECONDS, loadBefore, loadAfter: loadavg() };
writeFileSync("bench-results/races.json", `${JSON.stringify({ ...facts, totals, rows }, null, 2)}\n`);
process.exitCode = COLUMNS.slice(2).some((column) => sum(column) > 0) ? 1 : 0;
