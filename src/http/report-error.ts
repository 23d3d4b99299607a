/** Every failure becomes the one error envelope (api §1.4). */
import type { Response } from "express";
import { MulterError } from "multer";
import { openAiErrorType, ServiceError, toServiceError } from "../domain/errors.js";
import type { RequestContext } from "./request-contexts.js";

/** The body of every refusal and failure. */
export interface ErrorBody {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly code: string;
    readonly param?: string;
    readonly hint?: string;
    readonly request_id: string;
  };
}

export function toErrorBody(error: ServiceError, requestId: string): ErrorBody {
  return {
    error: {
      message: error.message,
      type: openAiErrorType(error.status),
      code: error.code,
      ...(error.param === undefined ? {} : { param: error.param }),
      ...(error.hint === undefined ? {} : { hint: error.hint }),
      request_id: requestId,
    },
  };
}

/** Answers with the envelope. @returns false when the answer had begun already: the connection can only be cut */
export function answerError(context: RequestContext, thrown: unknown, response: Response): boolean {
  const error = readThrown(thrown);
  context.error = error;
  if (response.headersSent) return false;
  setErrorHeaders(response, error);
  response.status(error.status).json(toErrorBody(error, context.requestId));
  return true;
}

function setErrorHeaders(response: Response, error: ServiceError): void {
  // Headers that a route set for its success do not belong to the failure.
  for (const name of ["Content-Disposition", "Content-Length", "Content-Type", "ETag"])
    response.removeHeader(name);
  response.setHeader("Cache-Control", "no-store");
  if (error.code === "auth.invalid") response.setHeader("WWW-Authenticate", "Bearer");
  if (error.status === 429 || error.status === 503) {
    const { retryAfterSec } = error.details;
    response.setHeader("Retry-After", typeof retryAfterSec === "number" ? retryAfterSec : 1);
  }
}

/** Reads what express, its body parser and multer throw; our own errors stay as they are. */
export function readThrown(thrown: unknown): ServiceError {
  if (thrown instanceof ServiceError) return thrown;
  if (thrown instanceof MulterError) return readMulterError(thrown);
  if (thrown instanceof URIError) return new ServiceError("request.invalid", "The path is not valid UTF-8.");
  const facts = readParserFacts(thrown);
  if (facts !== null) return readParserError(facts, thrown);
  return isCallersFault(thrown)
    ? new ServiceError("request.invalid", "The body could not be read.", { cause: thrown })
    : toServiceError(thrown);
}

/** Express and its parser mark what the caller did wrong by a status, as for a body that cannot be unpacked. */
function isCallersFault(thrown: unknown): boolean {
  if (!(thrown instanceof Error) || !("status" in thrown)) return false;
  return typeof thrown.status === "number" && thrown.status >= 400 && thrown.status < 500;
}

interface ParserFacts {
  readonly type: string;
  readonly limit: number | null;
  readonly length: number | null;
}

function readParserFacts(thrown: unknown): ParserFacts | null {
  if (typeof thrown !== "object" || thrown === null || !("type" in thrown)) return null;
  const {
    type,
    limit,
    length,
    received,
  }: { type: unknown; limit?: unknown; length?: unknown; received?: unknown } = thrown;
  if (typeof type !== "string") return null;
  return { type, limit: asNumber(limit), length: asNumber(length) ?? asNumber(received) };
}

function asNumber(value: unknown): number | null {
  return typeof value === "number" ? value : null;
}

/** Kinds of the body parser that are the caller's fault, and what is said of them. */
const PARSER_MESSAGES: Readonly<Record<string, string>> = {
  "entity.parse.failed": "The body is not valid JSON.",
  "entity.verify.failed": "The body could not be read.",
  "request.aborted": "The body ended before its announced length.",
  "request.size.invalid": "The body ended before its announced length.",
  "stream.encoding.set": "The body could not be read.",
};

const PARSER_HINTS: Readonly<Record<string, string>> = {
  "entity.parse.failed": "Check its quotes, commas and brackets; a shell may have taken some of them.",
};

function readParserError({ type, limit, length }: ParserFacts, cause: unknown): ServiceError {
  if (type === "entity.too.large") {
    const seen = length === null ? "more" : `${length} bytes`;
    return new ServiceError("request.too_large", `The body may have ${limit ?? 0} bytes; ${seen} came.`, {
      hint: "Send large files as multipart/form-data, or upload them with POST /v1/files.",
      cause,
    });
  }
  if (type === "charset.unsupported" || type === "encoding.unsupported") {
    const hint = "Send JSON in UTF-8, plain or as gzip, deflate or br.";
    const message = "The body is encoded in a way that is not served.";
    return new ServiceError("request.unsupported_media_type", message, { hint, cause });
  }
  const message = PARSER_MESSAGES[type];
  return message === undefined
    ? toServiceError(cause)
    : new ServiceError("request.invalid", message, { hint: PARSER_HINTS[type], cause });
}

function readMulterError(error: MulterError): ServiceError {
  const facts = { param: error.field?.slice(0, 100), cause: error };
  switch (error.code) {
    case "LIMIT_UNEXPECTED_FILE":
      return new ServiceError("request.invalid", "A file part has another name than `file`.", {
        ...facts,
        hint: "Name every file part `file`.",
      });
    case "LIMIT_FIELD_VALUE":
      return new ServiceError("request.too_large", "A field of the form is too long.", facts);
    case "LIMIT_PART_COUNT":
    case "LIMIT_FILE_COUNT":
    case "LIMIT_FIELD_COUNT":
      return new ServiceError("request.too_large", "The form has too many parts.", facts);
    default:
      return new ServiceError("request.invalid", "The form could not be read.", facts);
  }
}
