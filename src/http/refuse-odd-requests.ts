/** Refuses what Node's parser lets through and proxies read differently (security §10, raw HTTP). */
import type { RequestHandler } from "express";
import { ServiceError } from "../domain/errors.js";
import { isLoopbackHost } from "../lib/loopback.js";

/** Headers that must not stand twice. */
const SINGLE = ["host", "authorization", "content-length", "content-type", "transfer-encoding"];

/** First middleware: looks at the headers as they came, before anything trusts one of them. */
export function refuseOddRequests(): RequestHandler {
  return (request, _response, next) => {
    const fault = findHeaderFault(request.rawHeaders);
    if (fault !== null) throw new ServiceError("request.invalid", fault);
    if (request.method === "TRACE" || request.method === "CONNECT")
      throw new ServiceError("request.method_not_allowed", `${request.method} is not served here.`);
    next();
  };
}

/** @param rawHeaders names and values in turn, as Node gives them */
export function findHeaderFault(rawHeaders: readonly string[]): string | null {
  const counts = new Map<string, number>();
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]?.toLowerCase() ?? "";
    counts.set(name, (counts.get(name) ?? 0) + 1);
    if (name === "transfer-encoding" && rawHeaders[i + 1]?.trim().toLowerCase() !== "chunked")
      return "The only transfer encoding that is served is chunked.";
  }
  if (!counts.has("host")) return "The header host is missing.";
  const twice = SINGLE.find((name) => (counts.get(name) ?? 0) > 1);
  return twice === undefined ? null : `The header ${twice} stands more than once.`;
}

/**
 * Without keys the service trusts whoever reaches loopback; a page of another site must not be among them. A name that
 * was made to resolve to loopback shows in Host, a page's own address in Origin.
 */
export function refuseForeignPages(): RequestHandler {
  return (request, _response, next) => {
    const { host, origin } = request.headers;
    if (!isLoopbackHost(hostOf(`http://${host ?? ""}`)))
      throw foreign("Host", "Reach the service as 127.0.0.1 or localhost, or configure a key.");
    if (origin !== undefined && !isLoopbackHost(hostOf(origin)))
      throw foreign("Origin", "Configure a key and send it from your own server.");
    next();
  };
}

function hostOf(address: string): string {
  return URL.canParse(address) ? new URL(address).hostname : "";
}

function foreign(header: string, hint: string): ServiceError {
  return new ServiceError(
    "auth.forbidden",
    `Without a configured key only this machine is served; the header ${header} names another place.`,
    { hint },
  );
}
