/** Reads UTF-8 that arrives in pieces; what is not UTF-8 becomes replacement marks, and that is remembered. */
import { isUtf8 } from "node:buffer";

export class Utf8Text {
  /** A sequence begun at the end of the last piece, at most three bytes. */
  #carried: Uint8Array = new Uint8Array(0);
  #isValid = true;

  /** False once a replacement mark stood for bytes that are no UTF-8. */
  get isValid(): boolean {
    return this.#isValid;
  }

  /** Bytes that wait for the rest of their sequence, at most three. */
  get pendingBytes(): number {
    return this.#carried.length;
  }

  /** @returns the text of this piece; the beginning of a sequence that is not complete waits for the next one */
  push(bytes: Uint8Array): string {
    const all = this.#carried.length === 0 ? bytes : Buffer.concat([this.#carried, bytes]);
    const end = all.length - openBytes(all);
    // Copied: a view would keep the whole piece in memory.
    this.#carried = Uint8Array.from(all.subarray(end));
    return this.#decode(all.subarray(0, end));
  }

  /** @returns what is left: a replacement mark if the input ended inside a sequence, else nothing */
  end(): string {
    const rest = this.#carried;
    this.#carried = new Uint8Array(0);
    return this.#decode(rest);
  }

  #decode(bytes: Uint8Array): string {
    const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (this.#isValid && !isUtf8(view)) this.#isValid = false;
    return view.toString("utf8");
  }
}

/** Bytes at the end that begin a sequence and still miss some of it. */
function openBytes(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) return sequenceLength(byte) > back ? back : 0;
  }
  return 0;
}

function sequenceLength(lead: number): number {
  if (lead >= 0xf0) return 4;
  return lead >= 0xe0 ? 3 : 2;
}
