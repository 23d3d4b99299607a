/** Grants: what an operator's control plane lets a tenant have, for a short time (box §16.3). */
import { z } from "zod";

/** Farthest end of a grant from when its answer came, in milliseconds. */
export const MAX_GRANT_MS = 300_000;

/** Answer of the control plane for one grant. Fields that are not known are left alone. */
export const grantAnswerSchema = z.object({
  grant_id: z.string().min(1).max(200),
  tenant: z.string().min(1).max(200),
  /** Rises with every change of the grant. */
  revision: z.int().min(1),
  /** RFC 3339; at most 300 s ahead. */
  expires_at: z.iso.datetime({ offset: true }),
  /** Boxes of the tenant at one time; 0 = none may be used. */
  boxes: z.int().min(0),
  revoked: z.boolean().default(false),
});
export type GrantAnswer = z.infer<typeof grantAnswerSchema>;

/** Which grant is asked for. */
export interface GrantName {
  readonly tenant: string;
  readonly grantId: string;
}

/** The highest revision that was seen of a grant. */
export interface Grant extends GrantName {
  readonly revision: number;
  /** Unix milliseconds. */
  readonly expiresAt: number;
  readonly boxes: number;
  readonly revoked: boolean;
}

/** `taken`: it is what holds from here on, a revocation too; `refused`: the answer changes nothing. */
export type GrantVerdict =
  | { readonly kind: "taken"; readonly grant: Grant }
  | { readonly kind: "refused"; readonly reason: string };

/**
 * What an answer of the control plane changes. Revisions only rise, and a revoked one never comes back; an answer of the
 * same revision can only put off the end.
 * @param known the highest revision seen; null = none was
 * @param now Unix milliseconds
 */
export function judgeGrant(of: JudgedGrant, answer: GrantAnswer, now: number): GrantVerdict {
  const { known, asked } = of;
  const reason =
    findStrangeName(asked, answer) ?? findOldRevision(known, answer) ?? findExcess(of, answer, now);
  if (reason !== null) return { kind: "refused", reason };
  const { revision, boxes, revoked } = answer;
  const end = Date.parse(answer.expires_at);
  const renewed = known?.revision === revision ? Math.max(known.expiresAt, end) : end;
  const expiresAt = revoked ? Math.min(end, now) : renewed;
  return { kind: "taken", grant: { ...asked, revision, expiresAt, boxes, revoked } };
}

interface JudgedGrant {
  readonly known: Grant | null;
  readonly asked: GrantName;
}

function findStrangeName(asked: GrantName, answer: GrantAnswer): string | null {
  if (answer.grant_id !== asked.grantId) return "The answer names another grant than was asked for.";
  return answer.tenant === asked.tenant ? null : "The answer names another tenant than was asked for.";
}

function findOldRevision(known: Grant | null, { revision }: GrantAnswer): string | null {
  if (known === null) return null;
  if (revision < known.revision)
    return `The answer has revision ${revision}; revision ${known.revision} was seen already.`;
  return revision === known.revision && known.revoked ? `Revision ${revision} is revoked.` : null;
}

/** A revocation may say what it likes besides. */
function findExcess({ known }: JudgedGrant, answer: GrantAnswer, now: number): string | null {
  if (answer.revoked) return null;
  const { revision, boxes } = answer;
  const aheadMs = Date.parse(answer.expires_at) - now;
  if (aheadMs > MAX_GRANT_MS)
    return `The answer ends ${Math.ceil(aheadMs / 1000)} s ahead; at most ${MAX_GRANT_MS / 1000} s are taken.`;
  return known?.revision === revision && known.boxes !== boxes
    ? `Revision ${revision} said ${known.boxes} boxes before, and says ${boxes}.`
    : null;
}

/** Why a grant admits nobody at this moment, as a sentence; null = it does. @param now Unix milliseconds */
export function findGrantFault(grant: Grant | null, now: number): string | null {
  if (grant === null) return "The tenant has no grant.";
  if (grant.revoked) return "The grant of the tenant is revoked.";
  if (grant.expiresAt <= now) return "The grant of the tenant has expired.";
  return grant.boxes === 0 ? "The grant of the tenant allows 0 boxes." : null;
}
