/** Names and uids of a session on its engine: nothing in them tells of keys, tenants or chats (box §2.5, security §3.2). */
import type { IdSource } from "../ports/id-source.js";

/** Uids of box users: one for each session that has a container (box §5.2). */
export const FIRST_UID = 30_001;
const UID_COUNT = 5000;

/** Never used to find a box: random digits make every container's name new. */
export function containerName(identity: string, ids: IdSource): string {
  return `berth-${identity.slice(0, 20)}-${ids.randomHex(8)}`;
}

export function volumeName(identity: string, ids: IdSource): string {
  return `berth-ws-${identity.slice(0, 20)}-${ids.randomHex(8)}`;
}

/** @returns the lowest uid of the range that is not taken; null when all are */
export function chooseUid(taken: ReadonlySet<number>): number | null {
  for (let uid = FIRST_UID; uid < FIRST_UID + UID_COUNT; uid += 1) if (!taken.has(uid)) return uid;
  return null;
}
