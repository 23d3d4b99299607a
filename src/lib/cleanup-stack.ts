/** Things to release, last taken first; Node 20 has no AsyncDisposableStack. */

type Release = () => void | Promise<void>;

export class CleanupStack implements AsyncDisposable {
  #releases: Release[];

  constructor(releases: readonly Release[] = []) {
    this.#releases = [...releases];
  }

  /** Takes over a thing and gives it back for use. */
  use<Thing extends Disposable | AsyncDisposable>(thing: Thing): Thing {
    this.defer(async () => {
      if (Symbol.asyncDispose in thing) await thing[Symbol.asyncDispose]();
      else thing[Symbol.dispose]();
    });
    return thing;
  }

  defer(release: Release): void {
    this.#releases.push(release);
  }

  /** Hands everything to a new stack; this one is empty afterwards. For a function that ends well and gives away what it took. */
  move(): CleanupStack {
    const releases = this.#releases;
    this.#releases = [];
    return new CleanupStack(releases);
  }

  /**
   * Releases all, each after the one before has ended, whatever fails; a second call has nothing left to do.
   * @throws the one failure itself, or an AggregateError of several
   */
  async [Symbol.asyncDispose](): Promise<void> {
    const failures: unknown[] = [];
    for (let release = this.#releases.pop(); release !== undefined; release = this.#releases.pop()) {
      try {
        await release();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length === 1) throw failures[0];
    if (failures.length > 1) throw new AggregateError(failures, `${failures.length} releases failed.`);
  }
}
