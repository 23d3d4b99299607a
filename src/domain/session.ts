/** A session: the scope in which runs share a box; the record is the truth of the mapping (design §1.3, box §2). */
import type { SessionId } from "./ids.js";

/** Owner of the boxes that are kept ready for sessions to come; no tenant of a key has this name (box §11.1). */
export const POOL_TENANT = "";

export interface SessionRecord {
  readonly id: SessionId;
  readonly tenant: string;
  /** sha256 hex that finds the record (box §2.5). */
  readonly identity: string;
  /** Rendered reuse key, a readable label. */
  readonly key: string;
  /** Engine that holds the volume. */
  readonly engine: string;
  /** Uid of the box user on that engine (box §5.2). */
  readonly uid: number;
  readonly volume: string;
  /** Container name; recorded before it is created (box §18.5). Null while the session has no container. */
  readonly container: string | null;
  /** True once the preparation container has made the volume ready. */
  readonly prepared: boolean;
  /** sha256 of the effective settings the container was made with. */
  readonly settings: string | null;
  /** What its next run must be told is gone (box §11.5); null while nobody has used the box, so that nobody misses anything. */
  readonly untold: readonly string[] | null;
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly lastUsedAt: number;
}
