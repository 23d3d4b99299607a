/** The text of a run as its user sees it so far: snapshots where it streams, else its complete messages (runs §21). */

export class VisibleText {
  readonly #complete: string[] = [];
  #snapshot = "";
  #isBehind = false;

  /** A cumulative snapshot takes the place of the one before (runs §21.2). */
  stream(snapshot: string): void {
    this.#snapshot = snapshot;
    this.#isBehind = false;
  }

  /** A complete message counts more than a snapshot that does not end with it: its stream stopped short. */
  complete(text: string): void {
    if (text === "") return;
    this.#complete.push(text);
    this.#isBehind = !this.#snapshot.endsWith(text);
  }

  /** Empty = nothing yet. */
  get text(): string {
    return this.#snapshot === "" || this.#isBehind ? this.#complete.join("\n\n") : this.#snapshot;
  }
}
