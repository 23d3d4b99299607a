/** Links that need no key: who has one may read one file until it expires (api §3). */
import { createHmac, timingSafeEqual } from "node:crypto";
import { z } from "zod";
import type { FileId } from "../domain/ids.js";

/** Seconds. */
export const LINK_TTL = { default: 3600, max: 7 * 24 * 3600 } as const;

export interface LinkGrant {
  readonly tenant: string;
  readonly fileId: FileId;
  /** Unix seconds. */
  readonly expiresAt: number;
}

const claimSchema = z.strictObject({ t: z.string(), e: z.int().nonnegative() });

/**
 * @param secret The service's link secret, as it is kept in its data directory.
 * @returns the token that stands in the query of the link
 */
export function signLink(secret: string, grant: LinkGrant): string {
  const claim = Buffer.from(JSON.stringify({ t: grant.tenant, e: grant.expiresAt })).toString("base64url");
  return `${claim}.${sign(secret, grant.fileId, claim).toString("base64url")}`;
}

/** @returns what the token grants, or null when it is forged, expired, or made for another file */
export function verifyLink(
  secret: string,
  link: { readonly fileId: FileId; readonly token: string },
  nowMs: number,
): LinkGrant | null {
  const [claim, signature, ...more] = link.token.split(".");
  if (claim === undefined || signature === undefined || more.length > 0) return null;
  const given = Buffer.from(signature, "base64url");
  const wanted = sign(secret, link.fileId, claim);
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) return null;
  const parsed = claimSchema.safeParse(readJson(Buffer.from(claim, "base64url").toString("utf8")));
  if (!parsed.success || parsed.data.e * 1000 <= nowMs) return null;
  return { tenant: parsed.data.t, fileId: link.fileId, expiresAt: parsed.data.e };
}

function sign(secret: string, fileId: FileId, claim: string): Buffer {
  return createHmac("sha256", secret).update(`berth-link-1\n${fileId}\n${claim}`).digest();
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
