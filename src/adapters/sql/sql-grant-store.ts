/** The highest revision seen of every grant, in SQL (box §16.3). */
import type { Grant, GrantName } from "../../domain/grant.js";
import type { GrantStore } from "../../ports/grant-store.js";
import type { SqlDatabase } from "./sql-database.js";

export class SqlGrantStore implements GrantStore {
  readonly #deps: { readonly database: SqlDatabase };

  constructor(deps: { readonly database: SqlDatabase }) {
    this.#deps = deps;
  }

  async get({ tenant, grantId }: GrantName): Promise<Grant | null> {
    const row = await this.#deps.database.db
      .selectFrom("grant_revision")
      .selectAll()
      .where("tenant", "=", tenant)
      .where("grant_id", "=", grantId)
      .executeTakeFirst();
    if (row === undefined) return null;
    const { revision, boxes } = row;
    return { tenant, grantId, revision, boxes, expiresAt: row.expires_at, revoked: row.revoked === 1 };
  }

  async raise(grant: Grant): Promise<Grant> {
    const { revision, boxes, expiresAt } = grant;
    const values = { revision, boxes, expires_at: expiresAt, revoked: grant.revoked ? 1 : 0 };
    // One statement, so that two processes cannot both take an older one for the newest.
    await this.#deps.database.db
      .insertInto("grant_revision")
      .values({ tenant: grant.tenant, grant_id: grant.grantId, ...values })
      .onConflict((conflict) =>
        conflict
          .columns(["tenant", "grant_id"])
          .doUpdateSet(values)
          .where((eb) =>
            eb.or([
              eb("grant_revision.revision", "<", revision),
              eb.and([
                eb("grant_revision.revision", "=", revision),
                eb("grant_revision.revoked", "=", 0),
                ...(grant.revoked ? [] : [eb("grant_revision.expires_at", "<=", expiresAt)]),
              ]),
            ]),
          ),
      )
      .execute();
    return (await this.get(grant)) ?? grant;
  }
}
