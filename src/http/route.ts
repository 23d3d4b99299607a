/** A route: its public contract, from which the OpenAPI document is made, and what answers it. */
import type { Request, Response } from "express";
import type { z } from "zod";
import type { ErrorCode } from "../domain/errors.js";
import type { Caller } from "../runs/run-request.js";
import { parseInput } from "./parse-input.js";
import type { RequestContext } from "./request-contexts.js";

export interface Answer {
  readonly description: string;
  /** Absent = no body. */
  readonly content?: Readonly<Record<string, z.ZodType>> | undefined;
}

export interface RouteContract<Query extends z.ZodObject = z.ZodObject> {
  readonly method: "get" | "post" | "put" | "delete";
  /** With `:name` parameters. */
  readonly path: string;
  /** `public` needs no key; `admin` a key of that role. */
  readonly access: "public" | "client" | "admin";
  readonly summary: string;
  readonly query: Query;
  readonly headers?: z.ZodObject | undefined;
  /** Bodies by content type; absent = the route takes none. */
  readonly body?: Readonly<Record<string, z.ZodType>> | undefined;
  readonly answers: Readonly<Record<number, Answer>>;
  /** Refusals of this route, besides those that every route has. */
  readonly errors: readonly ErrorCode[];
}

/** One request on its way to an answer. */
export interface Exchange<Query = Readonly<Record<string, unknown>>> {
  readonly request: Request;
  readonly response: Response;
  readonly context: RequestContext;
  readonly caller: Caller;
  readonly query: Query;
  /** Aborts when the client is gone before the answer is complete. */
  readonly signal: AbortSignal;
}

export interface Route {
  readonly contract: RouteContract;
  answer(exchange: Exchange): Promise<void>;
}

/** Ties a contract to what answers it. An unknown or faulty query field is refused before that (api §1.7). */
export function implement<Query extends z.ZodObject>(
  contract: RouteContract<Query>,
  answer: (exchange: Exchange<z.infer<Query>>) => Promise<void>,
): Route {
  return {
    contract,
    answer: (exchange) => answer({ ...exchange, query: parseInput(contract.query, exchange.query, "query") }),
  };
}

/** A parameter of the path, as it came. */
export function pathParameter(request: Request, name: string): string {
  const value = request.params[name];
  return typeof value === "string" ? value : "";
}
