/** Reads a JSON body within its limits: size, time, depth, content type (api §1.6, security §10). */
import { createHash } from "node:crypto";
import express, { type Request, type RequestHandler, type Response } from "express";
import type { z } from "zod";
import { ServiceError } from "../domain/errors.js";
import { JsonCost } from "../lib/json-cost.js";
import { parseInput } from "./parse-input.js";

/** Levels of objects and lists. */
export const MAX_JSON_DEPTH = 64;
/** Values of one body. Parsing holds up everybody, and small values take a hundred times longer than long ones. */
export const MAX_JSON_VALUES = 100_000;
const BODY_TIME_MS = 60_000;

export interface ReadBody {
  readonly value: unknown;
  /** sha256 hex of the bytes as they were sent, after decompression. */
  readonly hash: string;
}

export class JsonReader {
  readonly #parse: RequestHandler;
  readonly #hashes = new WeakMap<object, string>();

  constructor(limitBytes: number) {
    this.#parse = express.json({
      limit: limitBytes,
      type: () => true,
      verify: (request, _response, ...[bytes, charset]) => {
        checkJsonText(bytes, charset);
        this.#hashes.set(request, createHash("sha256").update(bytes).digest("hex"));
      },
    });
  }

  /** A request without a body counts as `{}`. */
  async read(request: Request, response: Response): Promise<ReadBody> {
    if (!hasBody(request)) return { value: {}, hash: createHash("sha256").digest("hex") };
    if (request.is("application/json") === false) throw wrongType(request, "application/json");
    await this.#parseInTime(request, response);
    const value: unknown = request.body ?? {};
    return { value, hash: this.#hashes.get(request) ?? "" };
  }

  async #parseInTime(request: Request, response: Response): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const late = new ServiceError(
        "request.timeout",
        `The body did not arrive within ${BODY_TIME_MS / 1000} s.`,
      );
      const timer = setTimeout(() => reject(late), BODY_TIME_MS);
      const end = (error?: unknown): void => {
        clearTimeout(timer);
        if (error === undefined) resolve();
        else reject(readRefusal(error));
      };
      Promise.resolve(this.#parse(request, response, end)).catch(end);
    });
  }

  /** Reads and checks; a refusal names the field. */
  async readAs<Schema extends z.ZodType>(
    schema: Schema,
    from: { readonly request: Request; readonly response: Response },
  ): Promise<{ readonly body: z.infer<Schema>; readonly hash: string }> {
    const { value, hash } = await this.read(from.request, from.response);
    return { body: parseInput(schema, value, "body"), hash };
  }
}

export function hasBody(request: Request): boolean {
  const { "content-length": length, "transfer-encoding": encoding } = request.headers;
  return encoding !== undefined || (length !== undefined && length !== "0");
}

export function wrongType(request: Request, wanted: string): ServiceError {
  const seen = (request.headers["content-type"] ?? "none").slice(0, 100).replace(/[^\x20-\x7e]/g, "?");
  return new ServiceError(
    "request.unsupported_media_type",
    `The content type here is ${wanted}; "${seen}" came.`,
    {
      param: "Content-Type",
    },
  );
}

/** The body parser gives errors a status, which ours have already: a refusal travels as a cause. */
function checkJsonText(bytes: Uint8Array, charset: string): void {
  try {
    if (charset !== "utf-8")
      throw new ServiceError("request.unsupported_media_type", "JSON is taken in UTF-8 only.", {
        param: "Content-Type",
      });
    refuseCostlyJson(bytes);
  } catch (refusal) {
    throw new Error("The body is refused.", { cause: refusal });
  }
}

function readRefusal(error: unknown): Error {
  if (!(error instanceof Error)) return new Error("The body could not be read.", { cause: error });
  return error.cause instanceof ServiceError ? error.cause : error;
}

/**
 * Looks at the text before anything parses it.
 * @throws ServiceError `request.invalid` for text that is nested too deep or holds too many values
 */
export function refuseCostlyJson(bytes: Uint8Array): void {
  try {
    new JsonCost({ maxValues: MAX_JSON_VALUES, maxDepth: MAX_JSON_DEPTH }).addAll(bytes);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new ServiceError("request.invalid", error.message, { hint: "Send large data as files." });
  }
}
