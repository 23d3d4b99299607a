/** Races between swaps in a box and operations of the service, counted (security §11.1). */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BoxSettings } from "../../../src/domain/box.js";
import { ServiceError } from "../../../src/domain/errors.js";
import { CleanupStack } from "../../../src/lib/cleanup-stack.js";
import { TimeLimit } from "../../../src/lib/time-limit.js";
import type { BoxPlace } from "../../../src/ports/box-backend.js";
import type { BoxHandle } from "../../../src/ports/box-handle.js";
import { OPERATIONS, type Operation, Operations, placeOf } from "./operations.js";
import { LOOK_OUTSIDE, MAKE_OUTSIDE, OUTSIDE, SWAPPER, SWAPS, type Swap } from "./swaps.js";

/** An operation that takes longer hangs. */
const HANG_MS = 20_000;
/** More of them only take time from one another. */
const AT_ONCE = 3;

export interface RaceRow {
  readonly transport: string;
  readonly operation: Operation;
  readonly swap: Swap;
  readonly seconds: number;
  readonly attempts: number;
  /** Attempts that were served: the others were refused. */
  readonly served: number;
  /** Attempts that showed bytes or names that are not the path's own. */
  readonly foreign: number;
  /** Attempts that gave parts of two contents as one. */
  readonly torn: number;
  readonly hangs: number;
  /** Attempts after which the box or its channel was lost. */
  readonly lost: number;
  /** Whether anything outside the workspace was written, made or removed. */
  readonly wroteOutside: boolean;
}

/** Boxes of one transport, and how they are made. */
export interface RaceTrack {
  readonly transport: string;
  readonly settings: BoxSettings;
  readonly operations?: readonly Operation[];
  readonly msPerSwap: number;
  startBox(): Promise<{ readonly box: BoxHandle; readonly place: BoxPlace }>;
  /** Where the engine keeps a volume on its host. */
  volumePath(volume: string): Promise<string>;
}

/** Files that no operation may show: where links are pointed at, and the marks in them. */
interface Forbidden {
  readonly outside: string;
  readonly links: readonly string[];
  readonly directories: readonly string[];
  readonly marks: readonly string[];
}

interface Lane {
  readonly track: RaceTrack;
  readonly operation: Operation;
  readonly box: BoxHandle;
  readonly forbidden: Forbidden;
}

/** Every operation in a box of its own, a few at once, against one swap after the other. */
export async function runRaces(track: RaceTrack, tell: (row: RaceRow) => void): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "berth-race-"));
  await using _files = new CleanupStack([() => rm(directory, { recursive: true, force: true })]);
  const forbidden = await makeForbidden(track, directory);
  const left = (track.operations ?? OPERATIONS).values();
  const work = async (): Promise<void> => {
    for (const operation of left) {
      const { box } = await track.startBox();
      await using _box = box;
      await inBox(box, ["python3", "-c", MAKE_OUTSIDE, forbidden.outside]);
      for (const swap of SWAPS) tell(await race({ track, operation, box, forbidden }, swap));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

/** A file of the host, a file of another box, and what only root may read in the image. */
async function makeForbidden(track: RaceTrack, directory: string): Promise<Forbidden> {
  const [outside, ofHost, ofOther] = [canary("outside"), canary("host"), canary("other")];
  await writeFile(join(directory, "t"), ofHost);
  const { box, place } = await track.startBox();
  await using _other = box;
  await inBox(box, ["sh", "-c", 'printf %s "$0" > /workspace/t', ofOther]);
  const volume = await track.volumePath(place.volume);
  const system = ["/etc/passwd", "/etc/shadow", "/proc/self/root/etc/passwd", "/proc/1/environ", "/dev/zero"];
  return {
    outside,
    links: [`${OUTSIDE}/t`, ...system, `${directory}/t`, `${volume}/t`],
    directories: [OUTSIDE, `/proc/self/root${OUTSIDE}`, "/etc", "/", directory, volume],
    marks: [outside, ofHost, ofOther, "outside-only", "/shadow"],
  };
}

function canary(name: string): string {
  return `CANARY-${name}-${randomBytes(8).toString("hex")}`;
}

async function race(lane: Lane, swap: Swap): Promise<RaceRow> {
  const { track, box, operation, forbidden } = lane;
  const before = await inBox(box, ["sh", "-c", LOOK_OUTSIDE]);
  const counts = { attempts: 0, served: 0, foreign: 0, torn: 0, hangs: 0, lost: 0 };
  const stop = new AbortController();
  const goals = [JSON.stringify(forbidden.links), JSON.stringify(forbidden.directories)];
  const argv = ["python3", "-c", SWAPPER, swap, placeOf(operation), ...goals];
  const swapper = runUntilStopped(box, argv, stop.signal);
  const operations = new Operations(box, track.settings);
  const begun = performance.now();
  while (performance.now() - begun < track.msPerSwap) {
    const verdict = await attempt(operations, lane, swap);
    counts.attempts += 1;
    if (verdict !== "refused") counts[verdict] += 1;
  }
  const seconds = Math.round((performance.now() - begun) / 100) / 10;
  stop.abort();
  await swapper;
  const wroteOutside = (await inBox(box, ["sh", "-c", LOOK_OUTSIDE])) !== before;
  return { transport: track.transport, operation, swap, seconds, ...counts, wroteOutside };
}

const LOSSES = new Set<string>(["box.engine_unavailable", "internal"]);

type Verdict = "served" | "refused" | "foreign" | "torn" | "hangs" | "lost";

async function attempt(operations: Operations, lane: Lane, swap: Swap): Promise<Verdict> {
  using limit = new TimeLimit(() => new Error("It hangs."));
  limit.restart(HANG_MS);
  try {
    const { ok, seen } = await operations.attempt(lane.operation, { signal: limit.signal });
    if (isForeign(seen, lane, swap)) return "foreign";
    if (!ok) return "refused";
    return /A{59}/.test(seen) && /B{59}/.test(seen) ? "torn" : "served";
  } catch (error) {
    if (limit.signal.aborted) return "hangs";
    if (!(error instanceof ServiceError)) throw error;
    return LOSSES.has(error.code) ? "lost" : "refused";
  }
}

function isForeign(seen: string, { forbidden, operation }: Lane, swap: Swap): boolean {
  if (forbidden.marks.some((mark) => seen.includes(mark)) || /root:[x*!]?:/.test(seen)) return true;
  // A file with a second hard link may be read in the box, but never be taken out of it.
  return operation === "export" && swap === "hard link" && seen.includes("HHHH");
}

async function inBox(box: BoxHandle, argv: readonly string[]): Promise<string> {
  const request = { argv, workdir: "/workspace", env: {}, timeoutMs: 60_000 };
  let text = "";
  for await (const event of box.exec(request, { signal: new AbortController().signal })) {
    if (event.type === "output") text += Buffer.from(event.bytes).toString();
    else if (event.exit.exitCode !== 0) throw new Error(`${argv[0]} failed: ${text}`);
  }
  return text;
}

/** A command that ends by itself has failed. */
async function runUntilStopped(box: BoxHandle, argv: readonly string[], signal: AbortSignal): Promise<void> {
  const request = { argv, workdir: "/workspace", env: {}, timeoutMs: 3_600_000 };
  let text = "";
  for await (const event of box.exec(request, { signal })) {
    if (event.type === "output") text += Buffer.from(event.bytes).toString().slice(0, 2000);
    else if (!signal.aborted) throw new Error(`The swaps have ended: ${text}`);
  }
}
