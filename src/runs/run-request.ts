/** What a surface hands to the one execution path: parsed once, bytes already out of the way (runs §7, §11). */
import type { AttachmentType } from "../domain/attachment.js";
import type { Chat } from "../domain/event.js";
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
  /** Null = the configured default. */
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
