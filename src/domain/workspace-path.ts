/** Paths below /workspace as text: normalised, then compared component by component (box §6.3). Opens nothing. */
import { WORKSPACE_ROOT } from "./box.js";

/** Characters of a path, before and after normalisation (box §8.3). */
export const MAX_PATH_CHARS = 4096;

export type WorkspacePath =
  | { readonly ok: true; readonly path: string }
  | { readonly ok: false; readonly fault: "escapes" | "bad_path" };

/**
 * Makes an absolute path without `.`, `..`, empty components and a trailing slash; relative ones are taken from
 * /workspace. `bad_path`: empty, longer than 4096 characters, with NUL, or not valid Unicode. `escapes`: leaves
 * /workspace. Links are not looked at: whoever opens the path walks it without following any.
 */
export function normaliseWorkspacePath(path: string): WorkspacePath {
  if (path === "" || path.includes("\0") || hasLoneSurrogate(path)) return { ok: false, fault: "bad_path" };
  const components = resolveComponents(path.startsWith("/") ? path : `${WORKSPACE_ROOT}/${path}`);
  const absolute = `/${components.join("/")}`;
  if (isTooLong(path) || isTooLong(absolute)) return { ok: false, fault: "bad_path" };
  return isWithin(WORKSPACE_ROOT, absolute) ? { ok: true, path: absolute } : { ok: false, fault: "escapes" };
}

/** Whether a normalised path is the directory itself or lies below it. */
export function isWithin(directory: string, path: string): boolean {
  return path === directory || path.startsWith(`${directory}/`);
}

function resolveComponents(absolute: string): readonly string[] {
  const kept: string[] = [];
  for (const component of absolute.split("/")) {
    if (component === "..") kept.pop();
    else if (component !== "" && component !== ".") kept.push(component);
  }
  return kept;
}

function isTooLong(path: string): boolean {
  return (
    path.length > MAX_PATH_CHARS &&
    (path.length > 2 * MAX_PATH_CHARS || Array.from(path).length > MAX_PATH_CHARS)
  );
}

/** Such text has no UTF-8 form, so no file can have that name. */
function hasLoneSurrogate(text: string): boolean {
  return /\p{Surrogate}/u.test(text);
}
