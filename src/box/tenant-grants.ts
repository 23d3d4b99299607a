/** Who may use boxes where an operator's control plane says so: asked, judged, kept, renewed (box §16.3). */
import { ServiceError, toServiceError } from "../domain/errors.js";
import { findGrantFault, type Grant, type GrantName, judgeGrant } from "../domain/grant.js";
import { linkSignals } from "../lib/link-signals.js";
import { SingleFlight } from "../lib/single-flight.js";
import type { Clock } from "../ports/clock.js";
import type { GrantSource } from "../ports/grant-source.js";
import type { GrantStore } from "../ports/grant-store.js";
import type { Logger } from "../ports/logger.js";
import type { CallOptions } from "../ports/options.js";

export interface TenantGrantsDeps {
  readonly source: GrantSource;
  readonly grantRevisions: GrantStore;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface TenantGrantsSettings {
  /** By tenant; one that is not listed has the grant of its own name. */
  readonly ids: ReadonlyMap<string, string>;
  /** Tenants whose grants are renewed. */
  readonly tenants: ReadonlySet<string>;
}

/** A control plane that does not answer holds up a use of a box so long. */
const ASK_MS = 5_000;

export class TenantGrants {
  readonly #deps: TenantGrantsDeps;
  readonly #settings: TenantGrantsSettings;
  readonly #asking = new SingleFlight<string, void>();
  /** Fault of the last answer by tenant, so that one fault is told once. */
  readonly #faults = new Map<string, string>();

  constructor(deps: TenantGrantsDeps, settings: TenantGrantsSettings) {
    this.#deps = deps;
    this.#settings = settings;
  }

  /**
   * Asks the control plane once where no valid grant is known.
   * @throws ServiceError `box.admission`
   */
  async admit(tenant: string, options: CallOptions): Promise<void> {
    if ((await this.findFault(tenant)) !== null) await this.refresh(tenant, options);
    const grant = await this.#find(tenant);
    const fault = findGrantFault(grant, this.#deps.clock.now());
    if (fault === null) return;
    throw new ServiceError("box.admission", fault, {
      hint: "Ask the operator to give or renew the grant; files are kept.",
      details: { grant: this.#nameOf(tenant).grantId, revision: grant?.revision ?? null },
    });
  }

  /** Why the tenant may use no box, as far as is known here; null = it may. */
  async findFault(tenant: string): Promise<string | null> {
    return findGrantFault(await this.#find(tenant), this.#deps.clock.now());
  }

  /** Asks for the grants of all tenants. */
  async refreshAll(options: CallOptions): Promise<void> {
    await Promise.all([...this.#settings.tenants].map((tenant) => this.refresh(tenant, options)));
  }

  /** A control plane that does not answer, or answers something else, changes nothing. */
  async refresh(tenant: string, options: CallOptions): Promise<void> {
    await this.#asking.run(tenant, (signal) => this.#ask(tenant, signal), options);
  }

  async #ask(tenant: string, signal: AbortSignal): Promise<void> {
    const { source, grantRevisions, clock } = this.#deps;
    const asked = this.#nameOf(tenant);
    using linked = linkSignals(signal, AbortSignal.timeout(ASK_MS));
    try {
      const answer = await source.ask(asked, linked);
      const verdict = judgeGrant({ known: await this.#find(tenant), asked }, answer, clock.now());
      if (verdict.kind === "taken") await grantRevisions.raise(verdict.grant);
      this.#tell(tenant, verdict.kind === "refused" ? verdict.reason : null);
    } catch (error) {
      signal.throwIfAborted();
      this.#tell(tenant, toServiceError(error).message);
    }
  }

  #tell(tenant: string, fault: string | null): void {
    const before = this.#faults.get(tenant) ?? null;
    if (fault === null) this.#faults.delete(tenant);
    else this.#faults.set(tenant, fault);
    if (fault !== null && fault !== before)
      this.#deps.logger.warn({ tenant, reason: fault }, "A grant could not be renewed.");
  }

  async #find(tenant: string): Promise<Grant | null> {
    return this.#deps.grantRevisions.get(this.#nameOf(tenant));
  }

  #nameOf(tenant: string): GrantName {
    return { tenant, grantId: this.#settings.ids.get(tenant) ?? tenant };
  }
}
