/** Bytes that are there already, as the stream that a write takes. */
export async function* onePiece(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
