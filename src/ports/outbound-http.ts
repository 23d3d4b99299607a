/**
 * HTTP to a service that the operator has named, under the rules of security §10: only http and https, public addresses
 * or hosts in `outbound.allowed_private_hosts`, checked after resolution; the connection goes to the checked address.
 * Redirects are not followed: they are answers.
 */
import type { CallOptions } from "./options.js";

export interface OutboundRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

export interface OutboundHttp {
  /**
   * Resolves when the head of the answer is there; the body streams. The signal ends the body, too.
   * @throws ServiceError `outbound.refused`, `outbound.failed`
   */
  request(url: string, request: OutboundRequest, options: CallOptions): Promise<Response>;
}
