/** A program that is spoken to over its standard input and output, wherever it runs. */
import type { CallOptions } from "../../ports/options.js";

/** Disposing of it ends the program with all that it started. */
export interface BytePipe extends AsyncDisposable {
  /** What the program writes to standard output, to be read once; it ends with the program. */
  readonly output: AsyncIterable<Uint8Array>;
  write(bytes: Uint8Array, options: CallOptions): Promise<void>;
  /** The last line of standard error, for the log. */
  lastWords(): string;
}
