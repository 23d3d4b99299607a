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
export function judgeGrant(
  { known, asked }: { readonly known: Grant | null; readonly asked: GrantName },
  answer: GrantAnswer,
  now: number,
): GrantVerdict {
  const { revision, boxes, revoked } = answer;
  if (answer.grant_id !== asked.grantId) return refused("The answer names another grant than was asked for.");
  if (answer.tenant !== asked.tenant) return refused("The answer names another tenant than was asked for.");
  const expiresAt = Date.parse(answer.expires_at);
  const isSame = known?.revision === revision;
  if (known !== null && revision < known.revision)
    return refused(`The answer has revision ${revision}; revision ${known.revision} was seen already.`);
  if (isSame && known.revoked) return refused(`Revision ${revision} is revoked.`);
  if (revoked) return taken({ ...asked, revision, expiresAt: Math.min(expiresAt, now), boxes, revoked });
  if (expiresAt > now + MAX_GRANT_MS)
    return refused(
      `The answer ends ${Math.ceil((expiresAt - now) / 1000)} s ahead; at most ${MAX_GRANT_MS / 1000} s are taken.`,
    );
  if (isSame && known.boxes !== boxes)
    return refused(`Revision ${revision} said ${known.boxes} boxes before, and says ${boxes}.`);
  return taken({
    ...asked,
    revision,
    expiresAt: isSame ? Math.max(known.expiresAt, expiresAt) : expiresAt,
    boxes,
    revoked,
  });
}

/** Why a grant admits nobody at this moment, as a sentence; null = it does. @param now Unix milliseconds */
export function findGrantFault(grant: Grant | null, now: number): string | null {
  if (grant === null) return "The tenant has no grant.";
  if (grant.revoked) return "The grant of the tenant is revoked.";
  if (grant.expiresAt <= now) return "The grant of the tenant has expired.";
  return grant.boxes === 0 ? "The grant of the tenant allows 0 boxes." : null;
}

function taken(grant: Grant): GrantVerdict {
  return { kind: "taken", grant };
}

function refused(reason: string): GrantVerdict {
  return { kind: "refused", reason };
}
