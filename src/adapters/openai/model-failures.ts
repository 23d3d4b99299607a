/** Makes the failures of a model call: one code each, no secret, no address (local-agent §10.2, runs §23.1). */
import { ServiceError } from "../../domain/errors.js";
import { classifyRefusal } from "./classify-failure.js";
import { decodeProviderError, type ProviderError } from "./wire.js";

const MAX_CHARS = 300;

/** An answer with a status that is no success; thrown inside the client library and read again outside. */
export class RefusedAnswer extends Error {
  readonly status: number;
  readonly body: string;

  constructor(status: number, body: string) {
    super("The server refused.");
    this.name = "RefusedAnswer";
    this.status = status;
    this.body = body;
  }
}

export function refusalFailure({ status, body }: RefusedAnswer, apiKey: string | null): ServiceError {
  const provider = decodeProviderError(parseJson(body));
  const said = provider?.message ?? body.trim();
  const hasBody = said !== "";
  const code = classifyRefusal({ status, code: provider?.code ?? null, message: said, hasBody });
  const text = hasBody ? `: ${clean(said, apiKey)}` : " without a body.";
  return new ServiceError(code, `The model server answered ${status}${text}`, {
    details: { status, ...(provider?.code ? { provider_code: clean(provider.code, apiKey) } : {}) },
  });
}

/** An error object where an answer was expected (§12.4). */
export function providerFailure(error: ProviderError, apiKey: string | null): ServiceError {
  const code = classifyRefusal({ status: null, code: error.code, message: error.message, hasBody: true });
  return new ServiceError(code, `The model server reported an error: ${clean(error.message, apiKey)}`, {
    details: { provider_error: true, ...(error.code === null ? {} : { provider_code: error.code }) },
  });
}

export function brokenAnswer(reason: string, cause?: unknown): ServiceError {
  return new ServiceError("model.stream_failed", `The model's answer cannot be read: ${reason}`, { cause });
}

export function connectionFailure(cause: unknown): ServiceError {
  const code = errnoOf(cause);
  return new ServiceError(
    "model.unavailable",
    `The model server cannot be reached${code === null ? "" : ` (${code})`}.`,
    {
      cause,
      hint: "Check base_url and that the server runs.",
    },
  );
}

export function silenceFailure(limitMs: number, phase: "first_chunk" | "idle"): ServiceError {
  const when = phase === "first_chunk" ? "before its first chunk" : "in the middle of its answer";
  return new ServiceError("model.timeout", `The model sent nothing for ${limitMs / 1000} s ${when}.`, {
    details: { limit_ms: limitMs, phase },
  });
}

/** One line without the key, whole or as the server repeats parts of it. */
function clean(text: string, apiKey: string | null): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  const masked = apiKey === null || apiKey === "" ? line : line.replaceAll(apiKey, "***");
  const characters = Array.from(masked.replaceAll(/\b(?:sk|key|pk)-[\w*-]{4,}/gi, "***"));
  return characters.length <= MAX_CHARS
    ? characters.join("")
    : `${characters.slice(0, MAX_CHARS).join("")}...`;
}

function errnoOf(error: unknown): string | null {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth += 1)
    if ("code" in cause && typeof cause.code === "string") return cause.code;
  return null;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
