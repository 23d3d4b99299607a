/** Content of a write as bytes, exactly or not at all (box §6.5, §13). */
import { isWellFormed } from "../../lib/code-points.js";

export type DecodedContent =
  | { readonly ok: true; readonly bytes: Uint8Array }
  | { readonly ok: false; readonly error: string };

export function decodeContent(content: string, encoding: "text" | "base64"): DecodedContent {
  return encoding === "base64" ? decodeBase64(content) : encodeText(content);
}

function encodeText(content: string): DecodedContent {
  if (isWellFormed(content)) return { ok: true, bytes: Buffer.from(content) };
  return {
    ok: false,
    error: "content is not valid Unicode text (half of a surrogate pair). Nothing was written.",
  };
}

/** White space is allowed anywhere, padding may be missing; anything else would be guessed at by a lenient reader. */
function decodeBase64(content: string): DecodedContent {
  const digits = content.replace(/\s+/g, "");
  const bytes = Buffer.from(digits, "base64");
  const canonical = bytes.toString("base64");
  if (digits === canonical || digits === canonical.replace(/=+$/, "")) return { ok: true, bytes };
  return { ok: false, error: "content is not valid base64. Nothing was written." };
}
