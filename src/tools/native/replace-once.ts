/** The rule of `edit`, on bytes: what is not replaced stays as it is, whatever its encoding (box §13). */
import { isWellFormed } from "../../lib/code-points.js";

/** Most that a file may have, before and after. */
export const MAX_EDIT_BYTES = 1024 * 1024;

export interface Replacement {
  readonly path: string;
  readonly oldText: string;
  readonly newText: string;
}

export type Replaced =
  /** `line`: where the replaced text began, from 1. */
  | { readonly ok: true; readonly bytes: Buffer; readonly line: number }
  | { readonly ok: false; readonly error: string };

export function replaceOnce(file: Buffer, edit: Replacement): Replaced {
  const fault = findTextFault(edit);
  if (fault !== null) return { ok: false, error: fault };
  const old = Buffer.from(edit.oldText);
  const count = countPlaces(file, old);
  if (count !== 1) return { ok: false, error: describeCount(file, edit, count) };
  const start = file.indexOf(old);
  const bytes = Buffer.concat([
    file.subarray(0, start),
    Buffer.from(edit.newText),
    file.subarray(start + old.length),
  ]);
  if (bytes.length <= MAX_EDIT_BYTES) return { ok: true, bytes, line: lineAt(file, start) };
  return {
    ok: false,
    error: `The result would have ${bytes.length} bytes; edit takes at most ${MAX_EDIT_BYTES}. Nothing was changed.`,
  };
}

function findTextFault({ oldText, newText }: Replacement): string | null {
  if (oldText === "") return "old_string is empty. Use write to make a file or to replace all of it.";
  if (oldText === newText) return "old_string and new_string are the same. Nothing was changed.";
  if (isWellFormed(oldText) && isWellFormed(newText)) return null;
  return "old_string or new_string is not valid Unicode text. Nothing was changed.";
}

/** Places that overlap count too: such a text is no unique place either. */
function countPlaces(file: Buffer, old: Buffer): number {
  let count = 0;
  for (let at = file.indexOf(old); at !== -1; at = file.indexOf(old, at + 1)) count += 1;
  return count;
}

function describeCount(file: Buffer, { path, oldText }: Replacement, count: number): string {
  const name = JSON.stringify(path);
  if (count > 1)
    return `old_string occurs ${count} times in ${name}, it must occur once: give more of the text around it. Nothing was changed.`;
  const asCrlf = Buffer.from(oldText.replace(/\r?\n/g, "\r\n"));
  const hint =
    oldText.includes("\n") && file.includes(asCrlf)
      ? "The lines of the file end with \\r\\n."
      : "Read the file and copy the text exactly.";
  return `old_string was not found in ${name}. ${hint} Nothing was changed.`;
}

function lineAt(file: Buffer, index: number): number {
  let line = 1;
  for (let at = file.indexOf(0x0a); at !== -1 && at < index; at = file.indexOf(0x0a, at + 1)) line += 1;
  return line;
}
