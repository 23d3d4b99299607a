/** Output of a command as its reader gets it: a flood at a bounded pace, so that other boxes get their turn (box §10.8). */
import { delay } from "../../lib/delay.js";
import { OutputPace, type PaceRule } from "../../lib/output-pace.js";
import type { ExecEvent } from "../../ports/box-handle.js";
import type { Clock } from "../../ports/clock.js";
import type { CallOptions } from "../../ports/options.js";
import type { CommandOutput } from "./command-output.js";

const MIB = 1024 * 1024;
const RULE: PaceRule = { burstBytes: 64 * MIB, bytesPerSecond: 32 * MIB, shortestMs: 20 };
/** Much longer than any pause that a piece of output can cost. */
const LONGEST_MS = 100;
/** A pause is too short to be broken off. */
const UNHURRIED: CallOptions = { signal: new AbortController().signal };

export interface PacedCommand {
  readonly output: Pick<CommandOutput, "next">;
  /** Then what is left is read at full speed. */
  readonly hasEnded: boolean;
}

export async function* pacedOutput(command: PacedCommand, clock: Clock): AsyncGenerator<ExecEvent, void> {
  const pace = new OutputPace(RULE, clock.elapsed());
  for (let piece = await command.output.next(); piece !== null; piece = await command.output.next()) {
    yield { type: "output", ...piece };
    const waitMs = pace.take(piece.bytes.length, clock.elapsed());
    if (waitMs > 0 && !command.hasEnded) await delay(Math.min(waitMs, LONGEST_MS), UNHURRIED);
  }
}
