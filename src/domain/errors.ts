/** The one error class of the service and the table of its codes (api §1.4, box §17, runs §23). */

/**
 * Every code, with the HTTP status it answers and whether the same call may succeed later.
 * The names of runs §3.6 are codes here. `docs/errors.md` is compared with this table by a test.
 */
export const ERROR_CODES = {
  "request.invalid": { status: 400, retryable: false },
  "request.too_large": { status: 413, retryable: false },
  "request.route_not_found": { status: 404, retryable: false },
  "request.method_not_allowed": { status: 405, retryable: false },
  "request.unsupported_media_type": { status: 415, retryable: false },
  "request.timeout": { status: 408, retryable: true },
  "request.rate_limited": { status: 429, retryable: true },
  "auth.invalid": { status: 401, retryable: false },
  "auth.forbidden": { status: 403, retryable: false },
  "idempotency.mismatch": { status: 409, retryable: false },
  "service.stopping": { status: 503, retryable: true },
  "service.not_ready": { status: 503, retryable: true },

  "pipeline.not_found": { status: 404, retryable: false },
  "pipeline.ambiguous": { status: 409, retryable: false },
  "run.not_found": { status: 404, retryable: false },
  "run.ended": { status: 409, retryable: false },
  "run.not_retryable": { status: 409, retryable: false },
  "run.queue_full": { status: 429, retryable: true },
  "run.interrupted": { status: 500, retryable: true },
  "run.output_limit": { status: 500, retryable: false },
  "file.not_found": { status: 404, retryable: false },
  "file.range_invalid": { status: 416, retryable: false },
  "delivery.failed": { status: 500, retryable: false },
  "delivery.not_found": { status: 404, retryable: false },
  cancelled: { status: 499, retryable: false },

  "runner.not_found": { status: 404, retryable: false },
  "runner.not_authorized": { status: 403, retryable: false },
  "runner.protocol": { status: 500, retryable: false },
  "runner.no_model": { status: 500, retryable: false },
  "runner.invalid_prompt": { status: 500, retryable: false },
  "runner.llm_error": { status: 502, retryable: true },
  "runner.empty_reply": { status: 502, retryable: true },
  "runner.context_overflow": { status: 500, retryable: false },
  "runner.tool_error": { status: 500, retryable: false },
  "runner.timeout": { status: 504, retryable: true },
  "runner.error": { status: 500, retryable: false },

  "host.unauthorized": { status: 403, retryable: false },
  "host.not_found": { status: 404, retryable: false },
  "host.deadline_exceeded": { status: 504, retryable: true },
  "host.invalid_argument": { status: 400, retryable: false },
  "host.payload_too_large": { status: 413, retryable: false },

  "model.rate_limited": { status: 429, retryable: true },
  "model.unavailable": { status: 502, retryable: true },
  "model.timeout": { status: 504, retryable: true },
  "model.credentials_refused": { status: 502, retryable: false },
  "model.request_refused": { status: 502, retryable: false },
  "model.request_too_large": { status: 502, retryable: false },
  "model.context_overflow": { status: 502, retryable: false },
  "model.stream_failed": { status: 502, retryable: true },

  "session.template_invalid": { status: 400, retryable: false },
  "session.variable_missing": { status: 400, retryable: false },
  "session.not_found": { status: 404, retryable: false },
  "box.validation": { status: 400, retryable: false },
  "box.forbidden": { status: 403, retryable: false },
  "box.not_found": { status: 404, retryable: false },
  "box.process_not_found": { status: 404, retryable: false },
  "box.process_conflict": { status: 409, retryable: false },
  "box.conflict": { status: 409, retryable: false },
  "box.bind_conflict": { status: 409, retryable: false },
  "box.bind_required": { status: 409, retryable: false },
  "box.too_large": { status: 413, retryable: false },
  "box.admission": { status: 403, retryable: false },
  "box.capacity": { status: 429, retryable: true },
  "box.quota": { status: 507, retryable: false },
  "box.disabled": { status: 503, retryable: false },
  "box.engine_unavailable": { status: 503, retryable: true },
  "box.readiness": { status: 503, retryable: true },

  "outbound.refused": { status: 400, retryable: false },
  "outbound.failed": { status: 502, retryable: true },
  internal: { status: 500, retryable: false },
} as const satisfies Record<string, { status: number; retryable: boolean }>;

export type ErrorCode = keyof typeof ERROR_CODES;

export interface ErrorFacts {
  /** The next sensible step, for a person or a model. */
  readonly hint?: string | undefined;
  /** The field the error is about (the OpenAI word). */
  readonly param?: string | undefined;
  /** Plain JSON values only: limits and the values seen; never a secret or a host path. */
  readonly details?: Readonly<Record<string, unknown>> | undefined;
  /** Overrides the table's `retryable`, where the occurrence knows better. */
  readonly retryable?: boolean | undefined;
  readonly cause?: unknown;
}

/** An operation that could not go on. Decide by `code`, never by the message. */
export class ServiceError extends Error {
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  readonly param: string | undefined;
  readonly details: Readonly<Record<string, unknown>>;
  readonly retryable: boolean;

  /** @param message One sentence that names the thing, the limit and the value seen. */
  constructor(code: ErrorCode, message: string, facts: ErrorFacts = {}) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.name = "ServiceError";
    this.code = code;
    this.hint = facts.hint;
    this.param = facts.param;
    this.details = facts.details ?? {};
    this.retryable = facts.retryable ?? ERROR_CODES[code].retryable;
  }

  get status(): number {
    return ERROR_CODES[this.code].status;
  }
}

/** Reads any thrown value as a ServiceError; what is not ours is `internal`, its text kept out of sight. */
export function toServiceError(thrown: unknown): ServiceError {
  if (thrown instanceof ServiceError) return thrown;
  return new ServiceError("internal", "The service failed in an unexpected way.", { cause: thrown });
}

export type OpenAiErrorType =
  | "invalid_request_error"
  | "authentication_error"
  | "not_found_error"
  | "conflict_error"
  | "rate_limit_error"
  | "server_error";

/** The OpenAI word for a status (api §1.4). */
export function openAiErrorType(status: number): OpenAiErrorType {
  if (status === 401 || status === 403) return "authentication_error";
  if (status === 404) return "not_found_error";
  if (status === 409) return "conflict_error";
  if (status === 429) return "rate_limit_error";
  return status >= 500 ? "server_error" : "invalid_request_error";
}
