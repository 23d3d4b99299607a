/**
 * The helper in a box, as an engine's adapter sees it: a program that lies ready in an image, is started in a running
 * box, and does all work there over one channel that all leases of the box share (design §2). Its frames are the
 * business of the adapter that speaks them; the engine's adapter brings the channel and the stronger means.
 */
import type { BoxCounters, BoxLimits } from "../domain/exec-outcome.js";
import type { SessionId } from "../domain/ids.js";
import type { BoxChannel } from "./box-channel.js";
import type { BoxHandle } from "./box-handle.js";
import type { CallOptions } from "./options.js";
import type { VolumeUse } from "./quota-volumes.js";

/** How a box was cleared: all processes of the box user ended (2), or the whole box started anew (3). */
export interface Clearing {
  readonly rung: 2 | 3;
  readonly counters: BoxCounters | null;
}

/** What only the engine can do for one running box. Clearing goes on after its caller gave up. */
export interface HelperGround {
  /** Name of the container, for the log. */
  readonly container: string;
  readonly limits: BoxLimits;
  /**
   * What the kernel of the engine's host counts for the workspace, and bounds; null where nothing but a watch from inside
   * does. It answers null while it cannot tell.
   */
  readonly disk?: ((options: CallOptions) => Promise<VolumeUse | null>) | null | undefined;
  /** Whose box it is, where the egress broker carries its network; null or absent = it has none. */
  readonly egress?: { readonly sessionId: SessionId } | null | undefined;
  /** Whether the disk of the engine's host is down to its reserve: nothing may grow. Never rejects. */
  readonly isHostFull?: (() => Promise<boolean>) | undefined;
  /** Starts a helper as the box user. @throws ServiceError `box.readiness` when the box does not run */
  openChannel(options: CallOptions): Promise<BoxChannel>;
  /** Lets a box go on that somebody has paused. @returns whether it stood still */
  wake(options: CallOptions): Promise<boolean>;
  /** Whether something in the box has stopped what the engine started there, so that it cannot answer. False where nobody can tell. */
  isStopped(options: CallOptions): Promise<boolean>;
  /**
   * Ends all processes of the box user, helpers included; starts the box anew when that fails.
   * @returns null when the box has ended by itself, and its processes with it
   */
  clear(): Promise<Clearing | null>;
  /** Starts the box anew; files are kept. @returns null when it has ended by itself, or is gone or going */
  restart(): Promise<Clearing | null>;
}

/** The helper of one running box; it is replaced as often as needed while the container runs. */
export interface HelperSession extends AsyncDisposable {
  /** Whether a helper is connected and the box is not about to stand still: then it runs, as far as this machine has heard. */
  readonly isLive: boolean;
  /** Makes sure that a helper answers. @throws ServiceError when none can be had */
  ready(options: CallOptions): Promise<void>;
  /** The box is about to stand still: no answer is no fault until it is resumed. */
  suspend(): void;
  resume(): void;
  /** A handle for one lease; disposing it ends the commands and leftovers of that lease only. */
  lease(): BoxHandle;
}

export interface BoxHelper {
  /** Image that holds the helper's program below /opt/berth. */
  readonly image: string;
  serve(ground: HelperGround): HelperSession;
}
