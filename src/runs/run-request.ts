/** What a surface hands to the one execution path: parsed once, bytes already out of the way (runs §7, §11). */
import type { AttachmentType } from "../domain/attachment.js";
import type { Actor, Chat, EventType } from "../domain/event.js";
import type { FileId } from "../domain/ids.js";

export interface Caller {
  readonly tenant: string;
  readonly role: "client" | "admin";
}

/** Where the bytes of an incoming attachment are. */
export type IncomingSource =
  | { readonly kind: "base64"; readonly data: string }
  | { readonly kind: "url"; readonly url: string }
  | { readonly kind: "file"; readonly fileId: FileId }
  /** Already in the blob store: a part of a multipart request. */
  | { readonly kind: "blob"; readonly sha256: string; readonly sizeBytes: number };

export type IncomingContent =
  | { readonly type: "text"; readonly text: string }
  | {
      readonly type: "attachment";
      readonly kind: AttachmentType;
      readonly name: string | null;
      readonly mimeType: string | null;
      readonly source: IncomingSource;
    };

export interface MessageRequest {
  /** Null = the configured default; of an event the pipeline that listens to its type. */
  readonly pipeline: string | null;
  readonly chat: Chat;
  readonly text: string | null;
  readonly contents: readonly IncomingContent[];
  readonly variables: Readonly<Record<string, unknown>>;
  readonly surface: "rest" | "sse";
  readonly onDisconnect: "continue" | "cancel";
  readonly idempotency: {
    readonly key: string;
    /** sha256 hex of the body. */
    readonly bodyHash: string;
  } | null;
}

/** What a surface says of an event, before the host has filled in the rest (runs §11). */
export interface GivenEvent {
  readonly type: EventType;
  /** Unix seconds, or a finer unit (runs §11.4); null = when it was received. */
  readonly time: number | null;
  /** What the platform calls it. */
  readonly sourceType: string | null;
  readonly actor: Actor | null;
  readonly subject: {
    readonly type: string | null;
    readonly id: string | null;
    readonly data: Readonly<Record<string, unknown>>;
  } | null;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface EventRequest extends Omit<MessageRequest, "chat"> {
  /** Null = the event belongs to no conversation. */
  readonly chat: Chat | null;
  /** The message as the platform holds it: a file that is also among the contents counts once (runs §11.2). */
  readonly messageChain: readonly IncomingContent[];
  readonly event: GivenEvent;
}

/** All that may ask for a run. */
export type RunRequest = MessageRequest | EventRequest;
