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
