/** Errors of host calls as a runner in another process sees them (runs §15.5). */
import { type ErrorCode, type ServiceError, toServiceError } from "./errors.js";

export type HostErrorCode =
  | "unauthorized"
  | "not_found"
  | "deadline_exceeded"
  | "payload_too_large"
  | "rate_limited"
  | "invalid_argument"
  | "runtime_error";

export interface HostError {
  readonly code: HostErrorCode;
  readonly message: string;
  readonly retryable: boolean;
  /** `code` is the service's own, finer one. */
  readonly details: Readonly<Record<string, unknown>>;
}

const CODES: Partial<Record<ErrorCode, HostErrorCode>> = {
  "host.deadline_exceeded": "deadline_exceeded",
  "model.timeout": "deadline_exceeded",
  "runner.timeout": "deadline_exceeded",
};

const BY_STATUS: Readonly<Record<number, HostErrorCode>> = {
  400: "invalid_argument",
  401: "unauthorized",
  403: "unauthorized",
  404: "not_found",
  413: "payload_too_large",
  429: "rate_limited",
};

/** What is not ours becomes `runtime_error`, its text kept out of sight. */
export function toHostError(thrown: unknown): HostError {
  const error: ServiceError = toServiceError(thrown);
  const { code, message, retryable, hint, details } = error;
  return {
    code: CODES[code] ?? BY_STATUS[error.status] ?? "runtime_error",
    message,
    retryable,
    details: { ...details, code, ...(hint === undefined ? {} : { hint }) },
  };
}
