/** A path as the far end of a box takes it: names from /workspace downwards. Pure. */
import { normaliseWorkspacePath } from "./workspace-path.js";

/** The names, or the reason why the path has none. */
export type WorkspaceTarget =
  | { readonly parts: readonly string[] }
  | { readonly fault: "escapes" | "bad_path" };

/** @param path absolute */
export function toTarget(path: string): WorkspaceTarget {
  if (!path.startsWith("/")) return { fault: "bad_path" };
  const normalised = normaliseWorkspacePath(path);
  if (!normalised.ok) return { fault: normalised.fault };
  return { parts: normalised.path.split("/").slice(2) };
}

/** The path in its normal form; one that has none stays as it is. */
export function normalPath(path: string): string {
  const normalised = normaliseWorkspacePath(path);
  return normalised.ok ? normalised.path : path;
}
