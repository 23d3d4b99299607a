/** Labels of what we make on an engine: whose it is, in words that give nothing away (box §18.2, security §3.2). */
import { createHash } from "node:crypto";
import { ServiceError } from "../../domain/errors.js";
import type { SessionId } from "../../domain/ids.js";
import { POOL_TENANT } from "../../domain/session.js";

export const LABEL = {
  service: "berth.service",
  session: "berth.session",
  tenant: "berth.tenant",
  uid: "berth.uid",
  settings: "berth.settings",
  /** Only where the egress broker carries the box's network. */
  network: "berth.network",
  /** MiB that the workspace may hold; 0 = no quota. */
  quota: "berth.quota_mb",
  /** Version of the helper that is mounted, or that the volume holds. */
  helper: "berth.helper",
  /** Name of the directory in which the service listens for the helper; missing where it does not. */
  channel: "berth.channel",
  /** Only on short-lived containers: what they are for. */
  purpose: "berth.purpose",
} as const;

export interface Owner {
  readonly serviceId: string;
  readonly sessionId: SessionId;
  readonly tenant: string;
}

/** Stands for the tenant on what is made for the pool. Labels cannot be changed, so it stays when a session gets it. */
const OF_POOL = "pool";

/** The labels that everything of a session carries. The tenant is shown as a hash. */
export function ownerLabels(owner: Owner): Record<string, string> {
  return {
    [LABEL.service]: owner.serviceId,
    [LABEL.session]: owner.sessionId,
    [LABEL.tenant]: owner.tenant === POOL_TENANT ? OF_POOL : hashTenant(owner.tenant),
  };
}

function hashTenant(tenant: string): string {
  return createHash("sha256").update(tenant).digest("hex").slice(0, 32);
}

/** @returns 0, no quota, for a container without the label */
export function readQuotaMib(labels: Readonly<Record<string, string>>): number {
  const text = labels[LABEL.quota] ?? "";
  return /^[0-9]{1,9}$/u.test(text) ? Number(text) : 0;
}

/** @returns null for a label that is no uid of a box */
export function readUid(labels: Readonly<Record<string, string>>): number | null {
  const text = labels[LABEL.uid];
  return text !== undefined && /^[1-9][0-9]{0,9}$/u.test(text) ? Number(text) : null;
}

/**
 * What was made for the pool is the tenant's whose record has the session id: no two records ever have the same.
 * @throws ServiceError `box.conflict` when what the engine has under our name is not ours
 */
export function requireOwner(
  labels: Readonly<Record<string, string>>,
  wanted: Readonly<Record<string, string>>,
): void {
  const isForeign = (name: string): boolean =>
    labels[name] !== wanted[name] && !(name === LABEL.tenant && labels[name] === OF_POOL);
  const other = Object.keys(wanted).find(isForeign);
  if (other === undefined) return;
  throw new ServiceError(
    "box.conflict",
    `What the engine has under this name is not this box's: ${other} differs.`,
    {
      hint: "Use another name; it is never taken over.",
      details: { label: other },
    },
  );
}
