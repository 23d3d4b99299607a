/** What a run is told of a box that is not as the session's last run left it (box §11.5, §11.9). */
import type { SessionId } from "../domain/ids.js";

const KEPT = "the files of /workspace are kept";

export const BOX_NOTES = {
  rested: `The box was rested since the last run: running processes and files outside /workspace are gone; ${KEPT}.`,
  vanished: `The box was lost and a new one was made: running processes and files outside /workspace are gone; ${KEPT}.`,
  restarted: `The box was started again since the last run: running processes and files in /tmp are gone; ${KEPT}.`,
  replaced: `The box did not answer and was replaced: running processes and files outside /workspace are gone; ${KEPT}.`,
  changed: `The settings of the box changed and a new one was made: running processes and files outside /workspace are gone; ${KEPT}.`,
  expired: "The session was not used for long and its workspace was removed: files of earlier runs are gone.",
  workspace_lost: "The workspace of the session is not on the engine: files of earlier runs are gone.",
} as const;

/** What a run is told whose directories had no room. */
export const FULL_NOTE =
  "The workspace is full, by size or by number of files, so the inbox and outbox of this run could not be made. Delete files that are not needed, then make the outbox before anything is put there.";

/** Sessions whose notes are kept; those that wait longest are given up first. */
const MAX_SESSIONS = 10_000;

/** What was lost while no run was there to hear it: whoever wakes a box by hand leaves it to the session's next run. */
export class UntoldNotes {
  readonly #notes = new Map<SessionId, readonly string[]>();

  keep(id: SessionId, notes: readonly string[]): void {
    if (notes.length === 0) return;
    this.#notes.set(id, mergeNotes(this.#notes.get(id) ?? [], notes));
    for (const oldest of this.#notes.keys()) {
      if (this.#notes.size <= MAX_SESSIONS) return;
      this.#notes.delete(oldest);
    }
  }

  /** @returns what was kept and `notes`, each sentence once; nothing is kept afterwards */
  take(id: SessionId, notes: readonly string[] = []): readonly string[] {
    const kept = this.#notes.get(id) ?? [];
    this.#notes.delete(id);
    return mergeNotes(kept, notes);
  }
}

function mergeNotes(one: readonly string[], other: readonly string[]): readonly string[] {
  return [...new Set([...one, ...other])];
}
