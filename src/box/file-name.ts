/** Names of files on their way in and out of a box: data that must be harmless in a path, a header and a line of text. */
import type { AttachmentType } from "../domain/attachment.js";
import { prefixWithin } from "../lib/code-points.js";

/** UTF-8 bytes of an inbound name. */
export const MAX_NAME_BYTES = 240;

const FALLBACK: Readonly<Record<AttachmentType, { readonly stem: string; readonly extension: string }>> = {
  image: { stem: "image", extension: ".png" },
  voice: { stem: "voice", extension: ".wav" },
  file: { stem: "file", extension: ".bin" },
};

const DIRECTION = "\\u061C\\u200E\\u200F\\u202A-\\u202E\\u2066-\\u2069";
/** Control, direction control, line and paragraph separators, unassigned characters, halves of pairs. */
const UNSPEAKABLE = new RegExp(`[\\p{Cc}\\p{Zl}\\p{Zp}\\p{Cn}\\p{Cs}${DIRECTION}]`, "gu");
const ZERO_WIDTH = /[\u200B\u2060\uFEFF]/g;

/**
 * The name a file gets in the inbox (box §7.5).
 * @param given Name as it came; null = none.
 * @param index Number of the attachment, used where nothing of the name is left.
 */
export function inboundName(given: string | null, type: AttachmentType, index: number): string {
  const last = lastComponent(given ?? "");
  const kept = last
    .replace(/^\.+/, "")
    .replaceAll(" ", "_")
    .replace(/[^A-Za-z0-9._\-\u0080-\u{10FFFF}]/gu, "")
    .replace(UNSPEAKABLE, "");
  const fallback = FALLBACK[type];
  if (kept.replaceAll(".", "") === "") return `${fallback.stem}_${index}${fallback.extension}`;
  // Dropped characters may have left an extension alone: it is kept, the stem is filled in.
  return cutName(kept.startsWith(".") ? `${fallback.stem}_${index}${kept}` : kept, MAX_NAME_BYTES);
}

/** Original name for a note or an answer: last component, one line, never empty. */
export function displayName(given: string | null, type: AttachmentType, index: number): string {
  const last = lastComponent(given ?? "");
  const shown = last.replace(UNSPEAKABLE, "").trim();
  return shown === "" || shown === "." || shown === ".."
    ? inboundName(null, type, index)
    : shown.slice(0, 255);
}

/** The name a captured file is delivered under: the base name, on one line, without what could mislead a reader (box §8.10). */
export function deliveredName(path: string): string {
  const base = path.slice(path.lastIndexOf("/") + 1);
  const clean = base.replaceAll("\\", "_").replace(UNSPEAKABLE, "").replace(ZERO_WIDTH, "");
  return clean.replaceAll(".", "").trim() === "" ? "file" : clean;
}

/** @returns `name`, or `name (2).ext`, `name (3).ext` … where it is taken already (box §8.10) */
export function uniqueName(name: string, taken: ReadonlySet<string>): string {
  if (!taken.has(name)) return name;
  const { stem, extension } = splitName(name);
  for (let count = 2; ; count += 1) {
    const next = `${stem} (${count})${extension}`;
    if (!taken.has(next)) return next;
  }
}

/** Cuts the stem at a character until the name fits; the extension stays. */
function cutName(name: string, maxBytes: number): string {
  if (Buffer.byteLength(name) <= maxBytes) return name;
  const { stem, extension } = splitName(name);
  const room = maxBytes - Buffer.byteLength(extension);
  return room < 4 ? takeBytes(name, maxBytes) : takeBytes(stem, room) + extension;
}

function takeBytes(text: string, maxBytes: number): string {
  return prefixWithin(text, { chars: Infinity, bytes: maxBytes });
}

/** What follows the last separator of either kind. */
function lastComponent(text: string): string {
  return text.slice(Math.max(text.lastIndexOf("/"), text.lastIndexOf("\\")) + 1);
}

function splitName(name: string): { readonly stem: string; readonly extension: string } {
  const dot = name.lastIndexOf(".");
  return dot <= 0 ? { stem: name, extension: "" } : { stem: name.slice(0, dot), extension: name.slice(dot) };
}
