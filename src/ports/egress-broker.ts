/**
 * Carries what programs in boxes say to the outside, by the operator's list (box §10.6, security §5). A box has no route:
 * its helper listens on the box's loopback and relays each connection as bytes, and the broker behind it decides by host
 * and port, resolves names itself, connects to the checked address alone, and holds every box to its limits. What a
 * program says is not to be believed; whose box it is comes from the relay.
 */
import type { SessionId } from "../domain/ids.js";
import type { CallOptions } from "./options.js";

/** One connection that a program in a box has opened. */
export interface RelayedConnection {
  /**
   * What the program sends, in pieces cut anywhere; to be read once. It ends when the program sends no more. Whoever does
   * not read makes the program wait.
   * @throws what broke the connection off
   */
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Resolves when the connection is over, for whatever reason. Never rejects. */
  readonly closed: Promise<void>;
  /** One at a time. Resolves when more is wanted. @throws when the connection is over, or the abort's reason */
  write(bytes: Uint8Array, options: CallOptions): Promise<void>;
  /** Nothing more is sent to the program. @throws as `write` */
  end(options: CallOptions): Promise<void>;
  /** Breaks it off at once; harmless when it is over. */
  reset(): void;
}

/** The egress of one box, for as long as its relay lives. */
export interface BoxEgress extends Disposable {
  /** Connections of this box that may be open at one time. */
  readonly maxConnections: number;
  /** Serves it; never throws. Disposing breaks off what is open. */
  accept(connection: RelayedConnection): void;
}

export interface EgressBroker {
  /** Limits count for the session, however often its box is served anew. */
  serve(box: { readonly sessionId: SessionId }): BoxEgress;
}
