/** What the service knows about a request while it is being answered. */
import type { Request } from "express";
import { ServiceError } from "../domain/errors.js";
import type { Caller } from "../runs/run-request.js";

export interface RequestContext {
  /** Ours, or the caller's own where that is sane (api §1.4). */
  readonly requestId: string;
  /** Milliseconds on the clock that never runs backwards. */
  readonly startedAt: number;
  /** Null until the caller is known, and on public routes. */
  caller: Caller | null;
  /** Pattern of the route; null while none matched. */
  route: string | null;
  runId: string | null;
  /** Why the request was refused or failed; written to the log once, at the end. */
  error: ServiceError | null;
}

export class RequestContexts {
  readonly #contexts = new WeakMap<Request, RequestContext>();

  open(request: Request, context: RequestContext): void {
    this.#contexts.set(request, context);
  }

  of(request: Request): RequestContext {
    const context = this.#contexts.get(request);
    if (context === undefined) throw new ServiceError("internal", "The request has no context.");
    return context;
  }
}
