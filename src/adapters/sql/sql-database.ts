/** What a database has to offer to the stores. */
import type { Kysely } from "kysely";
import type { Schema } from "./schema.js";

export interface SqlDatabase extends AsyncDisposable {
  readonly db: Kysely<Schema>;
  /** No other process works with it while it is open: a worker of before is dead. */
  readonly isExclusive: boolean;
  /**
   * One transaction whose commit may be lost with the machine's power, never with the process; everything else is on the
   * disk when its call returns (design §6). For events that a later durable commit carries along.
   */
  relaxed<Value>(work: (db: Kysely<Schema>) => Promise<Value>): Promise<Value>;
}

/** Takes the next `count` numbers of a table and gives the first of them. Call it inside the transaction that inserts. */
export async function nextPosition(
  db: Kysely<Schema>,
  name: Schema["counter"]["name"],
  count = 1,
): Promise<number> {
  const { value } = await db
    .updateTable("counter")
    .set((expression) => ({ value: expression("value", "+", count) }))
    .where("name", "=", name)
    .returning("value")
    .executeTakeFirstOrThrow();
  return value - count + 1;
}
