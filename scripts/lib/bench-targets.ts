/** What the figures have to be at least (design §2), beside what they are. Pure. */
import type { ManyBoxes } from "./bench-many.js";
import type { Series } from "./bench-series.js";

export interface Target {
  readonly name: string;
  /** How many times less the other way takes, or more commands get done; `atMost` turns it around. */
  readonly atLeast?: number;
  readonly atMost?: number;
  /** NaN where it was not measured. */
  readonly found: number;
  readonly isMet: boolean;
}

const RATIOS = [
  { what: "true", way: "engine exec", atLeast: 20 },
  { what: "python print", way: "engine exec", atLeast: 3 },
  { what: "100 MB of stdout", way: "engine exec", atLeast: 1 },
  { what: "1 KB in", way: "archive", atLeast: 50 },
  { what: "1 KB out", way: "archive", atLeast: 50 },
  { what: "1 MB in", way: "archive", atLeast: 1 },
  { what: "1 MB out", way: "archive", atLeast: 1 },
  { what: "100 MB in", way: "archive", atLeast: 1 },
  { what: "100 MB out", way: "archive", atLeast: 1 },
  { what: "1000 files of 1 KB in", way: "archive", atLeast: 1 },
  { what: "1000 files of 1 KB out", way: "archive", atLeast: 1 },
  { what: "first exec of a new chat", way: "engine, box made", atLeast: 30 },
] as const;
const COMMANDS_AT_LEAST = 12;
const HELPER_KIB_AT_MOST = 2048;

export function judge(rows: readonly Series[], many: readonly ManyBoxes[]): readonly Target[] {
  const ratios = RATIOS.map(({ what, way, atLeast }) => {
    const found = rows.find((row) => row.what === what && row.way === way)?.ratio ?? Number.NaN;
    return { name: `${what} against ${way}`, atLeast, found, isMet: found >= atLeast };
  });
  const rates = many
    .filter(({ boxes }) => boxes > 1)
    .map(({ boxes, commandsPerSecond: { ratio: found } }) => ({
      name: `commands per second over ${boxes} boxes`,
      atLeast: COMMANDS_AT_LEAST,
      found,
      isMet: found >= COMMANDS_AT_LEAST,
    }));
  const helpers = many.map(({ boxes, idleKib: { helper: found } }) => ({
    name: `KiB of the idle helper, ${boxes} boxes`,
    atMost: HELPER_KIB_AT_MOST,
    found,
    isMet: found <= HELPER_KIB_AT_MOST,
  }));
  return [...ratios, ...rates, ...helpers];
}

export function describeTarget({ name, atLeast, atMost, found, isMet }: Target): string {
  const bound = atLeast === undefined ? `at most ${atMost}` : `at least ${atLeast}`;
  return `${isMet ? "met     " : "NOT MET "} ${name}: ${found.toFixed(1)}, wanted ${bound}`;
}
