/** Paths that are swapped while the service works with them; `npm run prove:races` does the same for longer (security §11.1). */
import { describe, expect, it } from "vitest";
import { hasEngine, type ServedBy, TestEngine } from "../support/engine.js";
import { OPERATIONS, type Operation } from "../support/races/operations.js";
import { type RaceRow, runRaces } from "../support/races/run-races.js";
import { SWAPS } from "../support/races/swaps.js";

/** The engine's workers are slow: they get fewer operations and more time for each. */
const TRACKS: readonly (readonly [ServedBy, number, readonly Operation[]])[] = [
  ["helper", 400, OPERATIONS],
  ["engine", 700, ["export", "import", "read", "delete"]],
];

describe.skipIf(!hasEngine())("a box that swaps what a path is", () => {
  it.each(TRACKS)(
    "gets nothing foreign out, nothing written outside and nobody to wait, served by the %s",
    async (transport, msPerSwap, operations) => {
      await using engine = new TestEngine(transport);
      const rows: RaceRow[] = [];
      const track = {
        transport,
        msPerSwap,
        operations,
        settings: engine.settings,
        startBox: () => engine.startBox(),
        volumePath: async (volume: string) => (await engine.docker.getVolume(volume).inspect()).Mountpoint,
      };
      await runRaces(track, (row) => void rows.push(row));
      const bad = rows.filter(
        ({ foreign, torn, hangs, lost, wroteOutside }) => foreign + torn + hangs + lost > 0 || wroteOutside,
      );
      expect(bad).toEqual([]);
      expect(rows).toHaveLength(operations.length * SWAPS.length);
      const served = new Set(rows.filter((row) => row.served > 0).map(({ operation }) => operation));
      expect(served.size).toBeGreaterThan(transport === "helper" ? operations.length - 1 : 0);
    },
    180_000,
  );
});
