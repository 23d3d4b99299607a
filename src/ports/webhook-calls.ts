/** Signed calls to webhook receivers (Standard Webhooks). The address is checked like every other one (box §7.3). */

export interface WebhookReceiver {
  /** Stays the same while the address does. */
  readonly id: string;
  readonly url: string;
  /** `whsec_` and base64, or plain text. */
  readonly secret: string;
}

export interface WebhookMessage {
  /** The same in every attempt. */
  readonly id: string;
  /** JSON. */
  readonly body: string;
}

/** What is known of an attempt: its answer; that the receiver never got the request; nothing. */
export type WebhookAnswer =
  | { readonly kind: "answered"; readonly status: number }
  | { readonly kind: "not_sent"; readonly reason: string }
  | { readonly kind: "unknown"; readonly reason: string };

export interface WebhookCalls {
  /** Never throws for what a receiver or the way to it does. @param now Unix milliseconds, of the signature */
  send(receiver: WebhookReceiver, message: WebhookMessage, now: number): Promise<WebhookAnswer>;
}
