/** What a tenant may do within a minute; a refusal says the limit and when to try again (api §1.6). */
import { ServiceError } from "../domain/errors.js";
import type { TokenBuckets } from "./token-bucket.js";

/** @throws ServiceError `request.rate_limited` when the tenant sent too many requests within a minute */
export function takeRequestToken(requests: TokenBuckets, tenant: string): void {
  takeToken(requests, tenant, `send ${requests.perMinute} requests`);
}

/** @throws ServiceError `request.rate_limited` when the tenant started too many runs within a minute */
export function takeRunToken(runs: TokenBuckets, tenant: string): void {
  takeToken(runs, tenant, `start ${runs.perMinute} runs`);
}

function takeToken(buckets: TokenBuckets, tenant: string, allowed: string): void {
  const waitSec = buckets.take(tenant);
  if (waitSec === 0) return;
  throw new ServiceError("request.rate_limited", `A tenant may ${allowed} in a minute; more came.`, {
    hint: `Try again in ${waitSec} s.`,
    details: { retryAfterSec: waitSec },
  });
}
