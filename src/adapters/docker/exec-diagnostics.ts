/** What a program writes beside its channel: the first bytes are kept for the log, the rest is passed over. */
export class ExecDiagnostics {
  readonly #limitBytes: number;
  readonly #kept: Buffer[] = [];
  #keptBytes = 0;

  constructor(limitBytes = 4096) {
    this.#limitBytes = limitBytes;
  }

  get text(): string {
    return Buffer.concat(this.#kept).toString("utf8");
  }

  keep(bytes: Uint8Array): void {
    const kept = bytes.subarray(0, this.#limitBytes - this.#keptBytes);
    this.#keptBytes += kept.length;
    if (kept.length > 0) this.#kept.push(Buffer.from(kept));
  }
}
