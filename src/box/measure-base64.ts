/** Inline bytes of attachments: measured before they are decoded (box §7.3). */

export type DecodedBytes =
  | { readonly ok: true; readonly bytes: Uint8Array; readonly mimeType: string | null }
  | {
      readonly ok: false;
      readonly fault: "too_large" | "not_base64";
      /** One sentence for model and caller, with limit and size. */
      readonly reason: string;
      /** Size after decoding; null when that cannot be told. */
      readonly sizeBytes: number | null;
    };

const DIGIT = 1;
const PADDING = 2;
const WHITE_SPACE = 3;
/** Kind of each ASCII character; digits of the standard and the URL-safe alphabet. A table, since texts may be long. */
const KINDS = new Uint8Array(128);
for (const unit of Buffer.from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_"))
  KINDS[unit] = DIGIT;
for (const unit of Buffer.from("\t\n\r ")) KINDS[unit] = WHITE_SPACE;
KINDS["=".charCodeAt(0)] = PADDING;

/** Characters of a data URI's head; longer ones are no data URI. */
const MAX_HEAD = 1024;

const NOT_BASE64: DecodedBytes = {
  ok: false,
  fault: "not_base64",
  reason: "Its data is not valid base64.",
  sizeBytes: null,
};

function tooLarge(sizeBytes: number, maxBytes: number): DecodedBytes {
  const reason = `It has ${sizeBytes} bytes; the limit is ${maxBytes} bytes per file.`;
  return { ok: false, fault: "too_large", reason, sizeBytes };
}

/**
 * Decodes base64 or a data URI (base64 or percent-encoded) of at most `maxBytes` bytes.
 * Nothing is decoded that is too large: the size is counted on the text.
 */
export function decodeBase64(data: string, maxBytes: number): DecodedBytes {
  const comma = data.slice(0, MAX_HEAD).indexOf(",");
  if (comma < 0 || !/^data:/i.test(data)) return decodeText(data, maxBytes, null);
  const head = data.slice("data:".length, comma);
  const body = data.slice(comma + 1);
  const type = head.slice(0, `${head};`.indexOf(";")).trim().toLowerCase();
  const mimeType = type === "" ? null : type;
  const isBase64 = /;\s*base64\s*$/i.test(head);
  return isBase64 ? decodeText(body, maxBytes, mimeType) : decodePercent(body, maxBytes, mimeType);
}

function decodeText(text: string, maxBytes: number, mimeType: string | null): DecodedBytes {
  const digits = countDigits(text);
  if (digits === null || digits % 4 === 1) return NOT_BASE64;
  const sizeBytes = Math.floor((digits * 3) / 4);
  if (sizeBytes > maxBytes) return tooLarge(sizeBytes, maxBytes);
  return { ok: true, bytes: Buffer.from(text, "base64"), mimeType };
}

/** Characters that carry bits; null when the text is no base64. White space is skipped, padding may be left out. */
function countDigits(text: string): number | null {
  let digits = 0;
  let padding = 0;
  for (let i = 0; i < text.length; i += 1) {
    const kind = KINDS[text.charCodeAt(i)];
    if (kind === DIGIT && padding === 0) digits += 1;
    else if (kind === PADDING) padding += 1;
    else if (kind !== WHITE_SPACE) return null;
  }
  return padding > 2 ? null : digits;
}

function decodePercent(body: string, maxBytes: number, mimeType: string | null): DecodedBytes {
  const sizeBytes = Buffer.byteLength(body) - 2 * (body.match(/%[0-9A-Fa-f]{2}/g)?.length ?? 0);
  if (sizeBytes > maxBytes) return tooLarge(sizeBytes, maxBytes);
  const source = Buffer.from(body);
  const bytes = Buffer.alloc(sizeBytes);
  let from = 0;
  for (let to = 0; to < sizeBytes; to += 1) {
    const pair = source[from] === 0x25 ? source.toString("latin1", from + 1, from + 3) : "";
    const isEscape = /^[0-9A-Fa-f]{2}$/.test(pair);
    bytes[to] = isEscape ? Number.parseInt(pair, 16) : source.readUInt8(from);
    from += isEscape ? 3 : 1;
  }
  return { ok: true, bytes, mimeType };
}
