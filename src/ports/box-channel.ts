/**
 * A pair of byte streams into a box: one program in it reads what we write and says what we read. Bytes only; what they
 * mean is the business of whoever speaks over it, and nothing that comes out of it is to be believed.
 */
import type { CallOptions } from "./options.js";

export interface BoxChannel extends AsyncDisposable {
  /**
   * What the far end says, in pieces cut anywhere; to be read once. It ends when the far end has ended or the channel is
   * closed, which is no word on success. Whoever does not read makes the far end wait.
   * @throws what broke the transport
   */
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Whether the far end has ended or the channel is closed: nothing more can be written. */
  readonly hasEnded: boolean;
  /** What the far end wrote beside the channel, at most 4 KiB: for the log, never for decisions. */
  readonly diagnostics: string;
  /**
   * Bytes of several calls go out in the order of the calls. Resolves when the transport wants more; an abort ends the
   * waiting and takes nothing back.
   * @throws an error when the channel has ended
   */
  write(bytes: Uint8Array, options: CallOptions): Promise<void>;
  /** Ends both directions at once; closing twice is harmless. */
  close(): Promise<void>;
}
