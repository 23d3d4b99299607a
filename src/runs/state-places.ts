/** Where the state of a run lies: one key for each scope, of all identities that keep it apart (runs §16.1, §16.2). Pure. */
import { createHash } from "node:crypto";
import type { EventType } from "../domain/event.js";
import type { StateScope, StateSettings, StorageArea } from "../domain/state.js";
import type { StatePlace } from "../ports/state-store.js";

/** Who the state of a run belongs to; null is an identity that the run does not have. */
export interface StateIdentity {
  readonly tenant: string;
  /** Canonical id, so that all names of a runner share its state. */
  readonly runner: string;
  /** Name of the pipeline. */
  readonly binding: string;
  readonly bot: string | null;
  readonly conversation: { readonly id: string | readonly string[]; readonly thread: string | null } | null;
  readonly actor: { readonly type: string; readonly id: string } | null;
  readonly subject: { readonly type: string; readonly id: string } | null;
}

const ALL_SCOPES: readonly StateScope[] = ["conversation", "actor", "subject", "runner"];
const DEFAULT_SCOPES: readonly StateScope[] = ["conversation", "actor"];

/** A binding that says nothing of scopes enables all of them for the messages of chats. */
export function permittedScopes(settings: StateSettings, eventType: EventType): readonly StateScope[] {
  if (!settings.enable_state) return [];
  const { scopes } = settings;
  if (scopes !== null) return ALL_SCOPES.filter((scope) => scopes.includes(scope));
  return eventType === "message.received" ? ALL_SCOPES : DEFAULT_SCOPES;
}

/** @returns null where an identity of the scope is missing: there is no shared key in its place */
export function statePlace(identity: StateIdentity, scope: StateScope): StatePlace | null {
  const own = ownIds(identity, scope);
  if (own === null) return null;
  const { tenant, runner, binding, bot } = identity;
  return { tenant, scopeKey: `${scope}:${hash([runner, binding, bot, tenant, own])}` };
}

/** Values of a package are shared by its runners and bindings, those of the tenant by all its packages. */
export function storagePlace(tenant: string, area: StorageArea, packageId: string): StatePlace {
  return { tenant, scopeKey: `${area}:${hash(area === "plugin" ? [tenant, packageId] : [tenant])}` };
}

function ownIds(identity: StateIdentity, scope: StateScope): readonly unknown[] | null {
  switch (scope) {
    case "conversation":
      return identity.conversation && [identity.conversation.id, identity.conversation.thread];
    case "actor":
      return identity.actor && [identity.actor.type, identity.actor.id];
    case "subject":
      return identity.subject && [identity.subject.type, identity.subject.id];
    case "runner":
      return [];
    default:
      return scope satisfies never;
  }
}

function hash(parts: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}
