/**
 * Fetches what someone else named: attachment URLs and captured files (box §7.3, security §10). Only http and https,
 * public addresses or hosts the operator listed, checked after resolution and at every redirect; the connection goes to
 * the checked address. Refusals are one code, `outbound.refused`; everything else that fails is `outbound.failed`.
 */
import type { CallOptions } from "./options.js";

export interface OutboundFile extends AsyncDisposable {
  /** From the answer's disposition or the last path component; not yet cleaned. */
  readonly name: string | null;
  readonly mimeType: string | null;
  /** Stops with `box.too_large` as soon as the limit is passed, whatever the length header claims. */
  readonly bytes: AsyncIterable<Uint8Array>;
}

export interface OutboundFetch {
  open(
    url: string,
    limits: { readonly maxBytes: number; readonly timeoutMs: number },
    options: CallOptions,
  ): Promise<OutboundFile>;
}
