/** Type of a file from its first bytes and its name: magic bytes, then a UTF-8 check, then the extension (stack §1). */
import { fileTypeFromBuffer } from "file-type";
import { charset, lookup } from "mime-types";
import type { SniffMimeType } from "../../ports/sniff-mime-type.js";

const UNKNOWN = "application/octet-stream";

/** Extensions that the table of types does not know, or knows as something else than what people make. */
const TEXT_EXTENSIONS: Readonly<Record<string, string>> = {
  ts: "text/typescript",
  mts: "text/typescript",
  cts: "text/typescript",
  tsx: "text/tsx",
  py: "text/x-python",
  ipynb: "application/x-ipynb+json",
  svg: "image/svg+xml",
};
const BINARY_EXTENSIONS: Readonly<Record<string, string>> = { parquet: "application/vnd.apache.parquet" };

/** Formats that carry many others: the extension says which. */
const CONTAINERS = new Set(["application/zip", "application/x-cfb", "application/xml", "application/gzip"]);

export const sniffMimeType: SniffMimeType = async (name, head) => {
  const extension = /\.([^.]+)$/.exec(name)?.[1]?.toLowerCase() ?? "";
  const magic = await readMagic(head);
  if (magic !== null) return CONTAINERS.has(magic) ? refine(magic, extension) : magic;
  if (head.byteLength > 0 && isText(head)) return textType(extension);
  return BINARY_EXTENSIONS[extension] ?? (lookup(extension) || UNKNOWN);
};

async function readMagic(head: Uint8Array): Promise<string | null> {
  try {
    return (await fileTypeFromBuffer(head))?.mime ?? null;
  } catch {
    // Bytes that only begin like a known format may break its reader.
    return null;
  }
}

function refine(magic: string, extension: string): string {
  const named = TEXT_EXTENSIONS[extension] ?? (lookup(extension) || magic);
  return /^(?:image\/svg\+xml|application\/(?:.+\+(?:zip|xml)|vnd\..+|msword|java-archive))$/.test(named)
    ? named
    : magic;
}

function textType(extension: string): string {
  const known = TEXT_EXTENSIONS[extension];
  if (known !== undefined) return known;
  const type = lookup(extension) || "text/plain";
  return isTextType(type) ? type : "text/plain";
}

function isTextType(type: string): boolean {
  return (
    charset(type) !== false ||
    /^text\/|[/+.-](?:json|xml|yaml|toml|sql|sh|csh|tex|javascript|rtf)$/.test(type)
  );
}

/** Valid UTF-8 without NUL; a character cut at the end is no fault. */
function isText(head: Uint8Array): boolean {
  if (head.includes(0)) return false;
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(head, { stream: true });
    return true;
  } catch {
    return false;
  }
}
