/**
 * The host API by name, for runners that speak to the service from another process (runs §15.5).
 * - Every payload is checked here; what it asks is checked again by the host of the run (runs §15.4).
 * - The host decides whom it answers: whoever performs an action has found the run's host by the caller's own
 *   connection, never by what the payload says.
 */
import type { CallOptions } from "./options.js";
import type { RunHost } from "./run-host.js";

export interface HostActionRequest {
  /** `invoke_llm`, `call_tool`, … */
  readonly action: string;
  /** Unchecked. */
  readonly payload: unknown;
}

/** Plain JSON: one value, or a stream of them. */
export type HostActionAnswer =
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "stream"; readonly values: AsyncIterable<unknown> };

export interface HostActions {
  /**
   * @throws ServiceError `host.not_found` for a name that is no action, `host.invalid_argument` for a payload that does
   * not fit it, and whatever the host answers with
   */
  perform(host: RunHost, request: HostActionRequest, options: CallOptions): Promise<HostActionAnswer>;
}
