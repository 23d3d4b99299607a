/** Who is calling: one key, one tenant, one role; every failure looks the same (api §1.3). */
import type { Request } from "express";
import { ServiceError } from "../domain/errors.js";
import type { Caller } from "../runs/run-request.js";
import { KEYLESS_CALLER, type KeyRing } from "./key-ring.js";
import type { TokenBuckets } from "./token-bucket.js";

export interface AuthenticateDeps {
  readonly keys: KeyRing;
  /** Failures by address. */
  readonly failures: TokenBuckets;
}

const BEARER = /^Bearer +([\x21-\x7e]{1,512})$/i;

/**
 * @throws ServiceError `auth.invalid` for a missing or wrong key, `request.rate_limited` when there were too many of
 *   them from this address; a right key is never held up by the failures of others
 */
export function authenticate({ keys, failures }: AuthenticateDeps, request: Request): Caller {
  if (keys.isEmpty) return KEYLESS_CALLER;
  const [, key] = BEARER.exec(request.headers.authorization ?? "") ?? [];
  const caller = keys.find(key ?? "");
  if (caller !== null && key !== undefined) return caller;
  const waitSec = failures.take(request.socket.remoteAddress ?? "");
  if (waitSec === 0)
    throw new ServiceError("auth.invalid", "A valid key is needed.", {
      hint: "Send it as `Authorization: Bearer KEY`.",
    });
  throw new ServiceError(
    "request.rate_limited",
    `More than ${failures.perMinute} requests without a valid key came from this address within a minute.`,
    { hint: `Try again in ${waitSec} s with a valid key.`, details: { retryAfterSec: waitSec } },
  );
}

/** @throws ServiceError `auth.forbidden` for a key of the wrong role */
export function requireAdmin(caller: Caller): void {
  if (caller.role === "admin") return;
  throw new ServiceError(
    "auth.forbidden",
    "This needs a key with the role admin; yours has the role client.",
    { hint: "Use a key whose entry in server.keys says `role: admin`." },
  );
}
