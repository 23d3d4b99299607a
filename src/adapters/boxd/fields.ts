/** Fields in payloads: little-endian integers and length-prefixed byte strings. Pure; what is read is bounded and checked. */
import { helperFault } from "./frame-codec.js";

/** Builds a payload; each call adds a field and gives the writer back. */
export class FieldWriter {
  readonly #parts: Buffer[] = [];
  #sizeBytes = 0;

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  u8(value: number): this {
    return this.#add(Buffer.of(value));
  }

  u16(value: number): this {
    const field = Buffer.allocUnsafe(2);
    field.writeUInt16LE(value);
    return this.#add(field);
  }

  u32(value: number): this {
    const field = Buffer.allocUnsafe(4);
    field.writeUInt32LE(value);
    return this.#add(field);
  }

  /** A whole number; Infinity is the largest there is. */
  u64(value: number): this {
    const field = Buffer.allocUnsafe(8);
    field.writeBigUInt64LE(value === Number.POSITIVE_INFINITY ? 2n ** 64n - 1n : BigInt(value));
    return this.#add(field);
  }

  text(value: string): this {
    const bytes = Buffer.from(value, "utf8");
    return this.u32(bytes.length).#add(bytes);
  }

  texts(values: readonly string[]): this {
    this.u32(values.length);
    for (const value of values) this.text(value);
    return this;
  }

  /** What another writer holds. */
  all(other: FieldWriter): this {
    return this.#add(other.finish());
  }

  finish(): Buffer {
    return Buffer.concat(this.#parts);
  }

  #add(field: Buffer): this {
    this.#parts.push(field);
    this.#sizeBytes += field.length;
    return this;
  }
}

/** Every method throws a ServiceError when the payload does not hold what is asked for. */
export class FieldReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(payload: Uint8Array) {
    this.#bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
  }

  u8(): number {
    return this.#take(1).readUInt8();
  }

  u16(): number {
    return this.#take(2).readUInt16LE();
  }

  u32(): number {
    return this.#take(4).readUInt32LE();
  }

  u64(): number {
    return toSafe(this.#take(8).readBigUInt64LE());
  }

  i64(): number {
    return toSafe(this.#take(8).readBigInt64LE());
  }

  /** What is no UTF-8 becomes replacement marks. */
  text(maxBytes: number): string {
    const length = this.u32();
    if (length > maxBytes)
      throw helperFault(`The box sent a text of ${length} bytes; the limit is ${maxBytes}.`);
    return this.#take(length).toString("utf8");
  }

  /** Everything that is left. */
  rest(): Uint8Array {
    return this.#take(this.#bytes.length - this.#at);
  }

  /** Nothing may be left. */
  end(): void {
    if (this.#at !== this.#bytes.length) throw misfit();
  }

  #take(length: number): Buffer {
    if (length > this.#bytes.length - this.#at) throw misfit();
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }
}

function misfit(): Error {
  return helperFault("The box sent a payload that does not fit its type.");
}

function toSafe(value: bigint): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number))
    throw helperFault("The box sent a number that is larger than any it may have.");
  return number;
}
