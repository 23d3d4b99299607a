/**
 * Runs the proofs of test/docker/proofs in their whole length, prints what they measured beside what may be, and writes
 * bench-results/prove-box.json. Arguments go to vitest, file names among them. Ends with 1 where something does not hold.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";

const FOLDER = "test/docker/proofs";
const RESULT = "bench-results/prove-box.json";

const figureSchema = z.object({
  proof: z.string(),
  what: z.string(),
  value: z.number(),
  unit: z.string(),
  limit: z.number().optional(),
  load: z.number(),
});
type Figure = z.infer<typeof figureSchema>;

function holds({ value, limit }: Figure): boolean {
  return limit === undefined || value <= limit;
}

function describeFigure(figure: Figure): string {
  const { proof, what, value, unit, limit, load } = figure;
  const bound = limit === undefined ? "" : `at most ${limit} ${unit}`;
  const verdict = holds(figure) ? "" : "  DOES NOT HOLD";
  return `${proof.padEnd(10)} ${what.padEnd(64)} ${`${value} ${unit}`.padStart(12)}  ${bound.padEnd(16)} load ${load}${verdict}`;
}

async function runProofs(figures: string): Promise<number> {
  const chosen = process.argv.slice(2);
  const vitest = ["node_modules/vitest/vitest.mjs", "run", "--project", "docker"];
  const child = spawn(process.execPath, [...vitest, ...(chosen.length === 0 ? [FOLDER] : chosen)], {
    env: { ...process.env, PROVE: "full", PROVE_FIGURES: figures },
    stdio: "inherit",
  });
  const [code] = z
    .tuple([z.number().nullable()])
    .rest(z.unknown())
    .parse(await once(child, "exit"));
  return code ?? 1;
}

function readFigures(file: string): readonly Figure[] {
  const lines = readFileSync(file, "utf8").split("\n").filter(Boolean);
  return lines.map((line) => figureSchema.parse(JSON.parse(line)));
}

const place = mkdtempSync(join(tmpdir(), "berth-prove-"));
try {
  const file = join(place, "figures");
  writeFileSync(file, "");
  const loadBefore = loadavg();
  const code = await runProofs(file);
  const figures = readFigures(file);
  for (const figure of figures) process.stdout.write(`${describeFigure(figure)}\n`);
  const isHeld = code === 0 && figures.every(holds);
  const report = {
    at: new Date().toISOString(),
    node: process.version,
    load: { before: loadBefore, after: loadavg() },
    held: isHeld,
    figures,
  };
  mkdirSync("bench-results", { recursive: true });
  writeFileSync(RESULT, `${JSON.stringify(report, null, 2)}\n`);
  process.stdout.write(`${RESULT} is written; ${isHeld ? "all of it holds" : "NOT ALL OF IT HOLDS"}.\n`);
  process.exitCode = isHeld ? 0 : 1;
} finally {
  rmSync(place, { recursive: true, force: true });
}
