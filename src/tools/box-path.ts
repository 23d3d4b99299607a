/** Paths as tools take them, and what a tool says when a path cannot be used (box §6.3, §13). */
import { type FileFault, WORKSPACE_ROOT } from "../domain/box.js";
import { MAX_PATH_CHARS, normaliseWorkspacePath } from "../domain/workspace-path.js";
import type { WriteAnswer } from "../ports/box-handle.js";

export type ToolPath =
  | { readonly ok: true; readonly path: string }
  | { readonly ok: false; readonly error: string };

/** The directory of an optional field: models also leave it empty. */
export function pathOrRoot(given: string | undefined): string {
  return given === undefined || given === "" ? WORKSPACE_ROOT : given;
}

/** The absolute path of what the model named; relative ones are taken from /workspace. */
export function resolveToolPath(given: string): ToolPath {
  const normalised = normaliseWorkspacePath(given);
  if (normalised.ok) return normalised;
  return { ok: false, error: describeFault(given, normalised.fault) };
}

const FAULTS: Readonly<Record<FileFault, string>> = {
  escapes: "escapes the workspace: only paths below /workspace can be used.",
  symlink_component:
    "escapes: a part of it is a symbolic link, and links are not followed. Use the path it points to.",
  bad_path: `is not a usable path: 1 to ${MAX_PATH_CHARS} characters of valid text without NUL are needed.`,
  not_found: "does not exist. Use glob to find the right path.",
  not_directory: "is not a directory, or a part of it is none.",
  not_regular: "is not a regular file.",
  unreadable: "cannot be read by the box user.",
  changed: "was changed by something else at the same time. Read it and try again.",
  exists: "was made by something else at the same time. Read it and try again.",
  no_space: "was not written: the workspace has no space left. Remove files that are not needed.",
  denied: "was not written: the box user may not write there.",
};

/** Of a file that was not written; undefined = the box gave no answer. */
export function describeRefusedWrite(path: string, answer: RefusedWrite | undefined): string {
  if (answer?.space === undefined) return describeFault(path, answer?.fault ?? "denied");
  return `${showPath(path)} was not written. ${answer.space}`;
}

type RefusedWrite = Extract<WriteAnswer, { readonly ok: false }>;

/** One sentence for a fault; every violation of the boundary says "escapes". */
export function describeFault(path: string, fault: FileFault): string {
  return `${showPath(path)} ${FAULTS[fault]}`;
}

function showPath(path: string): string {
  return JSON.stringify(path.length > 200 ? `${path.slice(0, 200)}…` : path);
}
