/** Puts routes on the app: who may come in, how often, what the answer holds, and 405 for the other methods of a path. */
import type { Express, Request, Response } from "express";
import { ServiceError } from "../domain/errors.js";
import type { Caller } from "../runs/run-request.js";
import { takeRequestToken } from "./rate-limit.js";
import type { RequestContexts } from "./request-contexts.js";
import type { Route } from "./route.js";
import type { TokenBuckets } from "./token-bucket.js";

export interface MountDeps {
  readonly contexts: RequestContexts;
  /** @throws ServiceError `auth.invalid` */
  readonly authenticate: (request: Request) => Caller;
  /** @throws ServiceError `auth.forbidden` */
  readonly requireAdmin: (caller: Caller) => void;
  /** All requests by tenant. */
  readonly requests: TokenBuckets;
}

export function mountRoutes(app: Express, routes: readonly Route[], deps: MountDeps): void {
  for (const route of routes) {
    const { method, path } = route.contract;
    app[method](path, async (request: Request, response: Response) =>
      answer(route, deps, { request, response }),
    );
  }
  for (const path of new Set(routes.map(({ contract }) => contract.path))) {
    const allowed = allowedMethods(routes, path);
    app.all(path, (request, response) => {
      response.setHeader("Allow", allowed);
      throw new ServiceError(
        "request.method_not_allowed",
        `${request.method} is not served here; this path has ${allowed}.`,
      );
    });
  }
}

function allowedMethods(routes: readonly Route[], path: string): string {
  const methods = routes
    .filter(({ contract }) => contract.path === path)
    .map(({ contract }) => contract.method.toUpperCase());
  return (methods.includes("GET") ? [...methods, "HEAD"] : methods).join(", ");
}

async function answer(
  route: Route,
  deps: MountDeps,
  { request, response }: { readonly request: Request; readonly response: Response },
): Promise<void> {
  const context = deps.contexts.of(request);
  const { contract } = route;
  context.route = contract.path;
  const caller = contract.access === "public" ? PUBLIC_CALLER : deps.authenticate(request);
  if (contract.access !== "public") {
    context.caller = caller;
    takeRequestToken(deps.requests, caller.tenant);
  }
  if (contract.access === "admin") deps.requireAdmin(caller);
  const gone = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished) gone.abort(new ServiceError("cancelled", "The client is gone."));
  });
  if (response.destroyed) return;
  await route.answer({ request, response, context, caller, query: request.query, signal: gone.signal });
}

/** Public routes look at nothing of a tenant. */
const PUBLIC_CALLER: Caller = { tenant: "", role: "client" };
