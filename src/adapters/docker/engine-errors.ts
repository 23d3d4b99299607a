/** Turns what the engine and its connection say into errors of ours: one line, bounded, no host paths (box §17.1). */
import { z } from "zod";
import { type ErrorCode, ServiceError } from "../../domain/errors.js";

const MAX_REASON_CHARS = 200;

/** An answer of the engine with a status that is no success. */
export interface EngineRefusal {
  readonly status: number;
  /** For people and logs, cleaned; nothing decides by it. */
  readonly reason: string;
}

const refusalSchema = z.object({
  statusCode: z.number().int(),
  json: z.object({ message: z.string() }).nullish().catch(null),
});

const systemErrorSchema = z.object({ code: z.string() });

/** @returns null when the error is no answer of the engine */
export function readRefusal(error: unknown): EngineRefusal | null {
  const parsed = refusalSchema.safeParse(error);
  if (!parsed.success) return null;
  const { statusCode, json } = parsed.data;
  return { status: statusCode, reason: cleanReason(json?.message ?? `status ${statusCode}`) };
}

/** Collapses to one bounded line and takes out everything that looks like a path or an address of the host. */
export function cleanReason(text: string): string {
  const line = text
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .replace(/[a-z][a-z+.-]*:\/\/[^\s"',;]+/giu, "<address>")
    .replace(/\/[^\s"',;:)\]]+/gu, "<path>")
    .trim();
  return line.length > MAX_REASON_CHARS ? `${line.slice(0, MAX_REASON_CHARS - 1)}…` : line;
}

/** The error of a refused call. @param operation completes "The engine could not …" */
export function describeRefusal(operation: string, refusal: EngineRefusal): ServiceError {
  return new ServiceError(
    codeOf(refusal.status),
    `The engine could not ${operation}: ${refusal.reason.replace(/\.$/u, "")}.`,
    { details: { status: refusal.status } },
  );
}

function codeOf(status: number): ErrorCode {
  if (status === 404) return "box.not_found";
  if (status === 409) return "box.conflict";
  return "box.readiness";
}

/** The error of a call that got no answer. */
export function readUnreachable(
  request: { readonly operation: string; readonly limitMs: number },
  isTimeout: boolean,
  cause: unknown,
): ServiceError {
  const details = { operation: request.operation, limitMs: request.limitMs };
  const hint = "Check that the engine runs and answers, or switch the box off for this runner.";
  if (isTimeout) {
    const message = `The engine did not ${request.operation} within ${request.limitMs / 1000} s.`;
    return new ServiceError("box.engine_unavailable", message, {
      hint,
      details: { ...details, isTimeout },
      cause,
    });
  }
  const code = systemErrorSchema.safeParse(cause);
  const why = code.success ? code.data.code : "the connection failed";
  return new ServiceError(
    "box.engine_unavailable",
    `The engine could not be reached to ${request.operation}: ${why}.`,
    {
      hint,
      details,
      cause,
    },
  );
}

/** Whether the engine took a call and did not answer it in time. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof ServiceError && error.details["isTimeout"] === true;
}

/** The error of work on an engine that took longer than it may. */
export function slowEngine(operation: string, limitMs: number): ServiceError {
  return new ServiceError(
    "box.engine_unavailable",
    `The engine did not ${operation} within ${limitMs / 1000} s.`,
  );
}

export function missingImage(image: string): ServiceError {
  return new ServiceError("box.readiness", `The image ${JSON.stringify(image)} is not on the engine.`, {
    hint: "Build it with `npm run image`, or name another image in the settings.",
    details: { image },
    retryable: false,
  });
}
