/** Links of a final text that point into the box become links of delivered files, or say that nothing was delivered (runs §21.5). */
import type { FileRecord } from "../domain/delivery.js";
import { normaliseWorkspacePath } from "../domain/workspace-path.js";
import { fileContentPath } from "./run-object.js";

/** Up to the target of a Markdown link. A label without brackets keeps the search linear on any text. */
const LINK_HEAD = /(!?)\[([^[\]\n]*)\]\(\s{0,8}(?=<?(?:sandbox:\/|\/workspace\/))/g;
const BARE_LINK = /sandbox:\/[^\s()[\]<>"'`]+/g;
const TRAILING_PUNCTUATION = /[.,;:!?*_。，；：！？]{1,8}$/;
const TITLE = /\s{1,8}(?:"[^"]*"|'[^']*')\s{0,8}$/;
/** Characters from the target's first to the closing bracket, and brackets that may stand open between. */
const MAX_TARGET_CHARS = 5000;
const MAX_DEPTH = 4;

/** @param files the run's delivered files; matched by the path they were exported from, else by name */
export function replaceBoxLinks(text: string, files: readonly FileRecord[]): string {
  let shown = "";
  let from = 0;
  for (const head of text.matchAll(LINK_HEAD)) {
    const target = head.index < from ? null : readTarget(text, head.index + head[0].length);
    if (target === null) continue;
    const [, image = "", label = ""] = head;
    shown += replaceBareLinks(text.slice(from, head.index), files);
    shown += renderLink({ image, label, target: target.path }, files);
    from = target.end;
  }
  return shown + replaceBareLinks(text.slice(from), files);
}

/** The target from `start` to the bracket that closes the link; null where none does on that line. */
function readTarget(text: string, start: number): { readonly path: string; readonly end: number } | null {
  let depth = 0;
  const limit = Math.min(text.length, start + MAX_TARGET_CHARS);
  for (let at = start; at < limit && text[at] !== "\n" && depth <= MAX_DEPTH; at += 1) {
    if (text[at] === "(") depth += 1;
    if (text[at] === ")") depth -= 1;
    if (depth < 0) {
      const inner = text.slice(start, at).replace(TITLE, "").trimEnd();
      return { path: inner.replace(/^<(.*)>$/, "$1"), end: at + 1 };
    }
  }
  return null;
}

function renderLink(
  link: { readonly image: string; readonly label: string; readonly target: string },
  files: readonly FileRecord[],
): string {
  const file = findFile(link.target, files);
  if (file !== null) return `${link.image}[${link.label}](${fileContentPath(file.id)})`;
  return notDelivered(link.label === "" ? lastName(toPath(link.target)) : link.label);
}

function replaceBareLinks(text: string, files: readonly FileRecord[]): string {
  return text.replace(BARE_LINK, (link) => {
    const punctuation = TRAILING_PUNCTUATION.exec(link)?.[0] ?? "";
    const target = link.slice(0, link.length - punctuation.length);
    const file = findFile(target, files);
    return `${file === null ? notDelivered(lastName(toPath(target))) : fileContentPath(file.id)}${punctuation}`;
  });
}

/** Of two files that were exported from one path, the later one is what the text speaks of. */
function findFile(target: string, files: readonly FileRecord[]): FileRecord | null {
  const written = withoutScheme(target);
  const path = toPath(target);
  const exact = files.findLast(({ sourcePath }) => sourcePath === written || sourcePath === path);
  if (exact !== undefined || !isVague(path)) return exact ?? null;
  const name = lastName(path);
  const isNamed = (file: FileRecord): boolean =>
    file.name === name || lastName(file.sourcePath ?? "") === name;
  return files.findLast(isNamed) ?? null;
}

/** A path that names no directory of its own: a model often leaves out the outbox, or writes a place that is not in the box. */
function isVague(path: string): boolean {
  return !path.startsWith("/workspace/") || /^\/workspace\/(?:outbox\/)?[^/]+$/.test(path);
}

function withoutScheme(target: string): string {
  return target.replace(/^sandbox:\/+/, "/");
}

function toPath(target: string): string {
  const written = withoutScheme(target);
  const path = decodePath(written);
  const normal = normaliseWorkspacePath(path);
  return normal.ok ? normal.path : path;
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function lastName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function notDelivered(name: string): string {
  return `${name} (not delivered)`;
}
