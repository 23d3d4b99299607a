/** The helper of one box, as the leases that share it see it (box §12). */
import { type BoxLimits } from "../../domain/exec-outcome.js";
import type { Clearing } from "../../ports/box-helper.js";
import type { CallOptions } from "../../ports/options.js";
import type { BoxdCommand } from "./boxd-command.js";
import type { BoxdConnection } from "./boxd-connection.js";
import type { QuotaGuard } from "./quota-watch.js";

/** What a lease needs of the helper that it shares with others. */
export interface SharedHelper {
  /** Name of the container, for the log. */
  readonly container: string;
  readonly limits: BoxLimits;
  readonly quota: QuotaGuard;
  /** Commands of all leases that run or left something running. */
  readonly commands: Set<BoxdCommand>;
  /** Whether the box had to be woken, because somebody had paused it. @param elapsed monotonic milliseconds. Never rejects */
  wasWokenSince(elapsed: number): Promise<boolean>;
  /** Whether the disk of the host is down to its reserve. Never rejects. */
  isHostFull(): Promise<boolean>;
  /** Why a file of this size did not fit: limit, use and what to do. Never rejects. */
  explainNoSpace(sizeBytes: number): Promise<string>;
  /** The connection to a helper that lives. */
  connect(options: CallOptions): Promise<BoxdConnection>;
  /** Ends what a lost helper may have left. @returns null when the box itself has ended */
  recover(connection: BoxdConnection): Promise<Clearing | null>;
  /** Ends everything in the box. @returns null when the box itself has ended */
  clear(): Promise<Clearing | null>;
  /** Whether the box has stopped its helper. Never rejects. */
  isStopped(): Promise<boolean>;
  /** The helper did not end a command in time: it is dropped. */
  abandon(connection: BoxdConnection): void;
}
