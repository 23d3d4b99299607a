/** Makes a text of a failure fit to be shown to a model or a user. */

const MAX_CHARS = 500;
/** Absolute paths outside the workspace, but not the path part of an address. */
const HOST_PATH = /(?<![\w/:.])\/(?!workspace(?:\/|\b))(?:[\w.@+-]+\/)+[\w.@+-]*/g;

/** One line without stack, host path or flood, for a model or a user (runs §23.1). */
export function sanitiseText(text: string): string {
  const line = text
    .split(/\n\s+at /)[0]
    ?.replaceAll(/\s+/g, " ")
    .replaceAll(HOST_PATH, "[path]")
    .trim();
  const characters = Array.from(line ?? "");
  return characters.length <= MAX_CHARS
    ? characters.join("")
    : `${characters.slice(0, MAX_CHARS).join("")}...`;
}
