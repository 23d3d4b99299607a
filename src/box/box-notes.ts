/** What a run is told of a box that is not as the session's last run left it (box §11.5, §11.9). */
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

/** @returns each sentence once; null where nobody has used the box, so that nobody misses anything */
export function addNotes(
  untold: readonly string[] | null,
  notes: readonly string[],
): readonly string[] | null {
  return untold === null ? null : [...new Set([...untold, ...notes])];
}
