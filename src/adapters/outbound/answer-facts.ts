/** Name and type that an HTTP answer claims for its bytes: hints from a stranger, not yet cleaned. */
import type { IncomingHttpHeaders } from "node:http";

const MAX_NAME_CHARACTERS = 1024;

/** From the disposition, else the last component of the path; null when neither says one. */
export function readName(headers: IncomingHttpHeaders, url: URL): string | null {
  const name =
    readDisposition(headers["content-disposition"]) ?? decode(url.pathname.split("/").at(-1) ?? "");
  return name === "" ? null : name.slice(0, MAX_NAME_CHARACTERS);
}

export function readMimeType(headers: IncomingHttpHeaders): string | null {
  const [type = ""] = (headers["content-type"] ?? "").split(";");
  const plain = type.trim().toLowerCase();
  return /^[\w.+-]{1,64}\/[\w.+-]{1,128}$/.test(plain) ? plain : null;
}

function readDisposition(header: string | undefined): string | null {
  if (header === undefined) return null;
  const extended = /;\s*filename\*\s*=\s*utf-8'[^']*'([^;]+)/i.exec(header)?.[1];
  if (extended !== undefined) return decode(extended.trim());
  const [, quoted, token] = /;\s*filename\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;\s]+))/i.exec(header) ?? [];
  const name = quoted?.replace(/\\(.)/g, "$1") ?? token;
  return name === undefined ? null : readUtf8(name);
}

/** Header bytes arrive as latin1; many servers send UTF-8. */
function readUtf8(text: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(text, "latin1"));
  } catch {
    return text;
  }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
