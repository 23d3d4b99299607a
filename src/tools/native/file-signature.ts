/** Tells text from other files by their first bytes, and how to get text out of the others (box §13.1). */

/** Bytes at the beginning that are looked at. */
export const SIGNATURE_BYTES = 8192;

export interface BinaryType {
  /** A media type, or plain words where there is none. */
  readonly type: string;
  /** What to do instead of reading it as text. */
  readonly hint: string;
}

const PDF_HINT = "Extract its text with exec: pdftotext FILE -, or with python3 and pypdf.";
const IMAGE_HINT = "Look at it with exec: python3 and PIL for size and pixels.";
const ARCHIVE_HINT = "List it with exec (unzip -l, tar -t, 7z l), unpack it, and read the files.";
const MEDIA_HINT = "Look at it with exec: file FILE.";

interface Signature extends BinaryType {
  readonly bytes: string;
  readonly offset?: number;
}

/** Beginnings of common formats, as latin-1 text. */
const SIGNATURES: readonly Signature[] = [
  { bytes: "%PDF-", type: "application/pdf", hint: PDF_HINT },
  { bytes: "\x89PNG\r\n", type: "image/png", hint: IMAGE_HINT },
  { bytes: "\xff\xd8\xff", type: "image/jpeg", hint: IMAGE_HINT },
  { bytes: "GIF8", type: "image/gif", hint: IMAGE_HINT },
  { bytes: "WEBP", offset: 8, type: "image/webp", hint: IMAGE_HINT },
  { bytes: "PK\x03\x04", type: "application/zip", hint: ARCHIVE_HINT },
  { bytes: "PK\x05\x06", type: "application/zip", hint: ARCHIVE_HINT },
  { bytes: "\x1f\x8b", type: "application/gzip", hint: ARCHIVE_HINT },
  { bytes: "BZh", type: "application/x-bzip2", hint: ARCHIVE_HINT },
  { bytes: "\xfd7zXZ", type: "application/x-xz", hint: ARCHIVE_HINT },
  { bytes: "7z\xbc\xaf", type: "application/x-7z-compressed", hint: ARCHIVE_HINT },
  { bytes: "\x28\xb5\x2f\xfd", type: "application/zstd", hint: ARCHIVE_HINT },
  {
    bytes: "\xd0\xcf\x11\xe0",
    type: "an old Office document",
    hint: "Extract its text with exec: strings FILE.",
  },
  {
    bytes: "SQLite format 3\0",
    type: "application/vnd.sqlite3",
    hint: "Query it with exec: sqlite3 FILE .tables, or with python3 and sqlite3.",
  },
  { bytes: "\x7fELF", type: "a compiled program", hint: MEDIA_HINT },
  { bytes: "ID3", type: "audio/mpeg", hint: MEDIA_HINT },
  { bytes: "OggS", type: "audio/ogg", hint: MEDIA_HINT },
  { bytes: "WAVE", offset: 8, type: "audio/wav", hint: MEDIA_HINT },
  { bytes: "ftyp", offset: 4, type: "video/mp4", hint: MEDIA_HINT },
  { bytes: "PAR1", type: "a Parquet file", hint: "Read it with exec: python3 and pandas." },
];

const OFFICE: Readonly<Record<string, BinaryType>> = {
  docx: { type: "a Word document (docx)", hint: "Extract its text with exec: python3 and docx." },
  xlsx: { type: "an Excel workbook (xlsx)", hint: "Read its cells with exec: python3 and openpyxl." },
  pptx: { type: "a PowerPoint file (pptx)", hint: "Unpack it with exec: unzip, and read ppt/slides/*.xml." },
  odt: { type: "an OpenDocument text", hint: "Unpack it with exec: unzip, and read content.xml." },
};

const UTF16: BinaryType = {
  type: "UTF-16 text",
  hint: "Convert it with exec: iconv -f UTF-16 -t UTF-8 FILE.",
};
const UNKNOWN: BinaryType = {
  type: "binary data",
  hint: "Look at it with exec: file FILE, strings FILE, or xxd FILE | head.",
};

/** @returns null for a file that can be read as text */
export function detectBinary(start: Uint8Array, path: string): BinaryType | null {
  const known = SIGNATURES.find(({ bytes, offset = 0 }) => startsWith(start.subarray(offset), bytes));
  if (known?.type === "application/zip") return OFFICE[extensionOf(path)] ?? known;
  if (known !== undefined) return isPlainText(start, known) ? null : known;
  if (startsWith(start, "\xff\xfe") || startsWith(start, "\xfe\xff")) return UTF16;
  return start.includes(0) ? UNKNOWN : null;
}

/** A beginning made of letters may also begin a text: then what follows decides. */
function isPlainText(start: Uint8Array, known: Signature): boolean {
  if (known.type === "application/pdf" || /[^\x20-\x7e]/.test(known.bytes)) return false;
  return start.every((byte) => byte >= 0x20 || (byte >= 0x09 && byte <= 0x0d));
}

function startsWith(bytes: Uint8Array, latin1: string): boolean {
  return Buffer.from(bytes.subarray(0, latin1.length)).toString("latin1") === latin1;
}

function extensionOf(path: string): string {
  return /\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? "";
}
