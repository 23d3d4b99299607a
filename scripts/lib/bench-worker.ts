/** Protocol of the processes that `bench:runs` measures: each does runs when it is told, and says how long they took. */
import { z } from "zod";

export const orderSchema = z.object({
  /** Number of the first run: each has one of its own, by which the model server knows it. */
  first: z.number(),
  runs: z.number(),
  /** How many at once. */
  atOnce: z.number(),
  isStream: z.boolean(),
});
export type Order = z.infer<typeof orderSchema>;

export const reportSchema = z.object({
  /** Milliseconds of each run, in the order of their numbers. */
  times: z.array(z.number()),
  elapsedMs: z.number(),
  /** Processor time of this process. */
  cpuMs: z.number(),
  /** After a collection of garbage. */
  heapBytes: z.number(),
  rssBytes: z.number(),
});
export type Report = z.infer<typeof reportSchema>;

/** What the user says in a run; the model server finds the number in it. */
export function promptOf(run: number): string {
  return `This is run-${run}. Add the numbers step by step.`;
}

/** Tells of a way's own that a run came to its end with the answer of the last round. */
export const LAST_WORDS = "All five sums are done";

type OneRun = (run: number, isStream: boolean) => Promise<string>;

/** Answers orders of the process above until that goes away. @param oneRun gives the text of the answer */
export function serveOrders(oneRun: OneRun): void {
  process.on("message", (message) => {
    void work(orderSchema.parse(message), oneRun).then(
      (report) => process.send?.(report),
      (error: unknown) => {
        process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
        process.exit(1);
      },
    );
  });
  process.send?.("ready");
}

async function work({ first, runs, atOnce, isStream }: Order, oneRun: OneRun): Promise<Report> {
  globalThis.gc?.();
  const times: number[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let own = next++; own < runs; own = next++) {
      const begun = performance.now();
      const text = await oneRun(first + own, isStream);
      times[own] = performance.now() - begun;
      if (!text.includes(LAST_WORDS)) throw new Error(`Run ${first + own} ended with "${text}".`);
    }
  };
  const cpu = process.cpuUsage();
  const begun = performance.now();
  await Promise.all(Array.from({ length: atOnce }, lane));
  const elapsedMs = performance.now() - begun;
  const used = process.cpuUsage(cpu);
  globalThis.gc?.();
  const { heapUsed: heapBytes, rss: rssBytes } = process.memoryUsage();
  return { times, elapsedMs, cpuMs: (used.user + used.system) / 1000, heapBytes, rssBytes };
}
