/** A thing under test and what must be closed after it. */
export interface Opened<Thing> extends AsyncDisposable {
  readonly it: Thing;
}

export function opened<Thing>(
  it: Thing,
  close: () => PromiseLike<void> = async () => undefined,
): Opened<Thing> {
  return { it, [Symbol.asyncDispose]: close };
}
