/** What a run's context shows of its state at the start: bounded, so that no runner pays for what others have kept. */
import { MAX_STATE_KEYS, type StateScope } from "../../domain/state.js";
import type { StatePlace, StateSize, StateStore } from "../../ports/state-store.js";

/** Bytes of JSON of all scopes together. */
const MAX_SNAPSHOT_BYTES = 1024 * 1024;

export interface StateSnapshot {
  /** Scope → key → value. A scope without entries is an empty group. */
  readonly state: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** There are entries that it does not show; `state_get` and `state_list` reach them. */
  readonly isCut: boolean;
}

/** Keys in their order, scope after scope, as far as they fit. */
export async function readSnapshot(
  store: StateStore,
  places: readonly { readonly scope: StateScope; readonly place: StatePlace }[],
): Promise<StateSnapshot> {
  const state: Record<string, Record<string, unknown>> = {};
  let room = MAX_SNAPSHOT_BYTES;
  let isCut = false;
  for (const { scope, place } of places) {
    const sizes = await store.list(place, { prefix: "", limit: MAX_STATE_KEYS + 1 });
    const keys = keysThatFit(sizes.slice(0, MAX_STATE_KEYS), room);
    const entries = await store.getAll(place, keys);
    room -= entries.reduce((sum, { json }) => sum + Buffer.byteLength(json), 0);
    isCut ||= keys.length < sizes.length;
    state[scope] = Object.fromEntries(entries.map(({ key, json }) => [key, JSON.parse(json)]));
  }
  return { state, isCut };
}

function keysThatFit(sizes: readonly StateSize[], room: number): readonly string[] {
  let left = room;
  return sizes.flatMap(({ key, sizeBytes }) => {
    if (sizeBytes > left) return [];
    left -= sizeBytes;
    return [key];
  });
}
