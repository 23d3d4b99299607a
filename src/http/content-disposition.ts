/** The header that makes a browser save a file, under a name that cannot break out of it (security §10, downloads). */

/** UTF-16 units of a name in a header. */
const MAX_NAME_CHARS = 200;

/** What must not reach a header, a path or a file manager: control, format and direction characters, separators. */
const UNSAFE = /[\p{C}\p{Zl}\p{Zp}\u00ad]/gu;

/** One line: an ASCII stand-in for old clients and the exact name as RFC 5987 has it. */
export function attachmentHeader(name: string): string {
  const safe = safeName(name);
  const ascii = safe.replace(/[^A-Za-z0-9._ ()+,=-]/gu, "_");
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encodeName(safe)}`;
}

/** The last component on one line, never hidden, never empty; the extension stays. */
function safeName(name: string): string {
  const last = name.split(/[/\\]/).at(-1) ?? "";
  // Cut first: half a pair that the cut leaves is unsafe, too.
  const clean = last.slice(-MAX_NAME_CHARS).replace(UNSAFE, "");
  const visible = clean.replace(/^ +/, "").replace(/[. ]+$/, "");
  if (visible === "") return "file";
  return visible.startsWith(".") ? `_${visible}` : visible;
}

/** RFC 5987: encodeURIComponent leaves some characters that the grammar does not. */
function encodeName(name: string): string {
  return encodeURIComponent(name).replace(
    /['()*!~]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
