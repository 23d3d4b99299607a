/** Ends what does nothing while it is waited for, or whose caller gives up. */

export class StallGuard implements Disposable {
  readonly #end: () => void;
  readonly #limitMs: number;
  readonly #signal: AbortSignal;
  #timer: NodeJS.Timeout | null = null;
  #isArmed = false;
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
    this.#isArmed = true;
    // Turns change for every piece of a stream: one timer serves them all.
    if (this.#timer === null) this.#timer = setTimeout(() => this.#strike(), this.#limitMs);
    else this.#timer.refresh();
  }

  /** It is not its turn. */
  rest(): void {
    this.#isArmed = false;
  }

  #strike(): void {
    this.#timer = null;
    if (!this.#isArmed) return;
    this.#hasStalled = true;
    this.#end();
  }

  [Symbol.dispose](): void {
    this.rest();
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#signal.removeEventListener("abort", this.#end);
  }
}
