/** Webhook calls with the signature of Standard Webhooks. */
import { Webhook } from "standardwebhooks";
import { ServiceError } from "../../domain/errors.js";
import { TimeLimit } from "../../lib/time-limit.js";
import type { OutboundHttp } from "../../ports/outbound-http.js";
import type {
  WebhookAnswer,
  WebhookCalls,
  WebhookMessage,
  WebhookReceiver,
} from "../../ports/webhook-calls.js";

/** Failures that come before a byte of the request has left. */
const NOT_CONNECTED = new Set([
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
  "CERT_HAS_EXPIRED",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "ERR_TLS_CERT_ALTNAME_INVALID",
]);

export class StandardWebhookCalls implements WebhookCalls {
  readonly #deps: { readonly http: OutboundHttp; readonly timeoutMs: number };

  /** @param deps.timeoutMs of one attempt, until the head of the answer is there */
  constructor(deps: { readonly http: OutboundHttp; readonly timeoutMs: number }) {
    this.#deps = deps;
  }

  async send(receiver: WebhookReceiver, message: WebhookMessage, now: number): Promise<WebhookAnswer> {
    const { http, timeoutMs } = this.#deps;
    using limit = new TimeLimit(() => new ServiceError("outbound.failed", "The receiver took too long."));
    limit.restart(timeoutMs);
    const request = { method: "POST", headers: headersOf(receiver, message, now), body: message.body };
    try {
      const response = await http.request(receiver.url, request, { signal: limit.signal });
      await response.body?.cancel();
      return { kind: "answered", status: response.status };
    } catch (error) {
      return describeFailure(error);
    }
  }
}

function headersOf(
  { secret }: WebhookReceiver,
  { id, body }: WebhookMessage,
  now: number,
): Readonly<Record<string, string>> {
  const signer = secret.startsWith("whsec_")
    ? new Webhook(secret)
    : new Webhook(Buffer.from(secret, "utf8"), { format: "raw" });
  const seconds = Math.floor(now / 1000);
  return {
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(body)),
    "user-agent": "berth",
    "webhook-id": id,
    "webhook-timestamp": String(seconds),
    "webhook-signature": signer.sign(id, new Date(seconds * 1000), body),
  };
}

function describeFailure(error: unknown): WebhookAnswer {
  const code = error instanceof ServiceError ? error.code : "internal";
  const cause = error instanceof Error ? error.cause : undefined;
  if (code === "outbound.refused") return { kind: "not_sent", reason: code };
  const known = cause instanceof Error && "code" in cause ? String(cause.code) : null;
  if (known !== null && NOT_CONNECTED.has(known)) return { kind: "not_sent", reason: known };
  return { kind: "unknown", reason: known ?? code };
}
