/** Which paths an export may name, decided on the text alone (box §8.3); opens nothing. */
import { WORKSPACE_ROOT } from "../domain/box.js";
import { isWithin, normaliseWorkspacePath } from "../domain/workspace-path.js";

/** Bytes of one component of a path. */
export const MAX_COMPONENT_BYTES = 255;

/** Directories of one run in the box (box §5). */
export interface RunDirectories {
  readonly inbox: string;
  readonly outbox: string;
}

export function runDirectories(runId: string): RunDirectories {
  return { inbox: `${WORKSPACE_ROOT}/inbox/${runId}`, outbox: `${WORKSPACE_ROOT}/outbox/${runId}` };
}

/** Why a text names nothing that could be exported, whatever lies there. */
export type ExportPathFault =
  | "not_text"
  | "bad_path"
  | "relative"
  | "escapes"
  | "directory_itself"
  | "skills"
  | "other_run"
  | "repeated";

export type CheckedPath =
  | { readonly given: unknown; readonly path: string }
  | { readonly given: unknown; readonly fault: ExportPathFault };

/** Checks every entry of the list by itself, and that none comes twice after normalisation. */
export function checkExportPaths(paths: readonly unknown[], run: RunDirectories): readonly CheckedPath[] {
  const seen = new Set<string>();
  return paths.map((given): CheckedPath => {
    const checked = checkExportPath(given, run);
    if (!("path" in checked)) return checked;
    if (seen.has(checked.path)) return { given, fault: "repeated" };
    seen.add(checked.path);
    return checked;
  });
}

function checkExportPath(given: unknown, run: RunDirectories): CheckedPath {
  if (typeof given !== "string") return { given, fault: "not_text" };
  const normal = normaliseWorkspacePath(given);
  if (!normal.ok && normal.fault === "bad_path") return { given, fault: "bad_path" };
  if (!given.startsWith("/")) return { given, fault: "relative" };
  if (!normal.ok) return { given, fault: normal.fault };
  if (normal.path.split("/").some((component) => Buffer.byteLength(component) > MAX_COMPONENT_BYTES))
    return { given, fault: "bad_path" };
  const fault = findPlaceFault(normal.path, run);
  return fault === null ? { given, path: normal.path } : { given, fault };
}

function findPlaceFault(path: string, run: RunDirectories): ExportPathFault | null {
  const inboxes = `${WORKSPACE_ROOT}/inbox`;
  const outboxes = `${WORKSPACE_ROOT}/outbox`;
  if ([WORKSPACE_ROOT, inboxes, outboxes, run.inbox, run.outbox].includes(path)) return "directory_itself";
  if (isWithin(`${WORKSPACE_ROOT}/.skills`, path)) return "skills";
  const isOwn = isWithin(run.inbox, path) || isWithin(run.outbox, path);
  return !isOwn && (isWithin(inboxes, path) || isWithin(outboxes, path)) ? "other_run" : null;
}

/** The absolute path that a relative one most likely meant: in this run's outbox (box §8.5). */
export function suggestOutboxPath(relative: string, run: RunDirectories): string {
  const base = relative.split("/").findLast((part) => !["", ".", ".."].includes(part)) ?? "<file>";
  for (const guess of [`/${relative}`, `${WORKSPACE_ROOT}/${relative}`, `${run.outbox}/${relative}`]) {
    const normal = normaliseWorkspacePath(guess);
    if (normal.ok && normal.path !== run.outbox && isWithin(run.outbox, normal.path)) return normal.path;
  }
  return `${run.outbox}/${base}`;
}

/** A path for a message: one line, quoted, bounded, nothing a reader or a terminal could take for something else. */
export function showPath(path: string): string {
  const shown = path.length > 300 ? `${path.slice(0, 300)}…` : path;
  const safe = shown.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}"\\]/gu, (sign) =>
    sign === '"' || sign === "\\" ? `\\${sign}` : `\\u{${Number(sign.codePointAt(0)).toString(16)}}`,
  );
  return `"${safe}"`;
}
