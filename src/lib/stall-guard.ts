/** Ends what does nothing while it is waited for, or whose caller gives up. */

export class StallGuard implements Disposable {
  readonly #end: () => void;
  readonly #limitMs: number;
  readonly #signal: AbortSignal;
  #timer: NodeJS.Timeout | null = null;
  #hasStalled = false;

  constructor(end: () => void, limitMs: number, { signal }: { readonly signal: AbortSignal }) {
    this.#end = end;
    this.#limitMs = limitMs;
    this.#signal = signal;
    signal.addEventListener("abort", end, { once: true });
    if (signal.aborted) end();
  }

  get hasStalled(): boolean {
    return this.#hasStalled;
  }

  /** From here it has so long for its next sign of life. */
  arm(): void {
    this.rest();
    this.#timer = setTimeout(() => {
      this.#hasStalled = true;
      this.#end();
    }, this.#limitMs);
  }

  /** It is not its turn. */
  rest(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  [Symbol.dispose](): void {
    this.rest();
    this.#signal.removeEventListener("abort", this.#end);
  }
}
