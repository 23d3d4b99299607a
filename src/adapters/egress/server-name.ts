/** The server name in the first words of a TLS client, so that a tunnel to one host is not used for another. Pure. */

/** `undecided`: more bytes are needed. `none`: no TLS, or a hello without a name. */
export type ServerName =
  | { readonly type: "undecided" }
  | { readonly type: "none" }
  | { readonly type: "name"; readonly name: string };

const HANDSHAKE = 22;
const CLIENT_HELLO = 1;
const SERVER_NAME_EXTENSION = 0;
const HOST_NAME = 0;
const RECORD_HEADER = 5;
/** A hello that is larger is let through without a look. */
export const MAX_HELLO_BYTES = 16_384;

const UNDECIDED: ServerName = { type: "undecided" };
const NONE: ServerName = { type: "none" };

/** @param bytes all that the client has sent so far */
export function readServerName(bytes: Buffer): ServerName {
  if (bytes.length === 0) return UNDECIDED;
  if (bytes[0] !== HANDSHAKE) return NONE;
  const handshake = joinRecords(bytes);
  if (handshake === null) return NONE;
  if (handshake.length < 4) return bytes.length > MAX_HELLO_BYTES ? NONE : UNDECIDED;
  if (handshake[0] !== CLIENT_HELLO) return NONE;
  const length = handshake.readUIntBE(1, 3);
  if (length > MAX_HELLO_BYTES) return NONE;
  if (handshake.length < 4 + length) return bytes.length > 2 * MAX_HELLO_BYTES ? NONE : UNDECIDED;
  return readHello(new Fields(handshake.subarray(4, 4 + length)));
}

/** The handshake bytes of whole and begun records; null where another kind of record comes between. */
function joinRecords(bytes: Buffer): Buffer | null {
  const parts: Buffer[] = [];
  for (let at = 0; at + RECORD_HEADER <= bytes.length; ) {
    if (bytes[at] !== HANDSHAKE) return parts.length === 0 ? null : Buffer.concat(parts);
    const end = at + RECORD_HEADER + bytes.readUInt16BE(at + 3);
    parts.push(bytes.subarray(at + RECORD_HEADER, end));
    at = end;
  }
  return Buffer.concat(parts);
}

function readHello(hello: Fields): ServerName {
  hello.skip(2 + 32);
  hello.list(1);
  hello.list(2);
  hello.list(1);
  const extensions = hello.list(2);
  while (extensions.left > 0) {
    const type = extensions.number(2);
    const extension = extensions.list(2);
    if (type !== SERVER_NAME_EXTENSION) continue;
    const names = extension.list(2);
    while (names.left > 0) {
      const kind = names.number(1);
      const name = names.list(2);
      if (kind === HOST_NAME) return { type: "name", name: name.text().toLowerCase().replace(/\.$/u, "") };
    }
  }
  return NONE;
}

/** Reading past the end gives zeros and nothing. */
class Fields {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get left(): number {
    return Math.max(0, this.#bytes.length - this.#at);
  }

  skip(length: number): void {
    this.#at += length;
  }

  number(length: 1 | 2): number {
    const value = this.left < length ? 0 : this.#bytes.readUIntBE(this.#at, length);
    this.#at += length;
    return value;
  }

  /** What follows its length. */
  list(lengthBytes: 1 | 2): Fields {
    const length = this.number(lengthBytes);
    const from = Math.min(this.#at, this.#bytes.length);
    this.#at += length;
    return new Fields(this.#bytes.subarray(from, from + length));
  }

  text(): string {
    return this.#bytes.toString("latin1");
  }
}
