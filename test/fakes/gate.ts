/** A promise that a test opens: what waits for it goes on then, without any timer. */
export class Gate {
  readonly opened: Promise<void>;
  readonly #waiting: (() => void)[] = [];

  constructor() {
    this.opened = new Promise((resolve) => this.#waiting.push(resolve));
  }

  open(): void {
    for (const resolve of this.#waiting) resolve();
  }
}
