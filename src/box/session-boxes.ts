/** Looks at the boxes of sessions: one question to the engine for all of them (box §3.4). */
import { ServiceError } from "../domain/errors.js";
import type { SessionRecord } from "../domain/session.js";
import type { BoxBackend, ContainerState } from "../ports/box-backend.js";
import type { CallOptions } from "../ports/options.js";
import { type BoxDefaults, type BoxEntry, describeBox } from "./box-entry.js";
import type { OpenBoxes } from "./open-boxes.js";

export interface SessionBoxesDeps {
  readonly backend: Pick<BoxBackend, "inspect" | "listOwned">;
  readonly boxes: OpenBoxes;
  readonly defaults: BoxDefaults;
}

/** An entry for each record, in order. An engine that does not answer makes boxes `lost`, not the call fail. */
export async function describeBoxes(
  deps: SessionBoxesDeps,
  records: readonly SessionRecord[],
  options: CallOptions,
): Promise<readonly BoxEntry[]> {
  const states = await readStates(deps, records, options);
  return records.map((record) => {
    const facts = {
      open: deps.boxes.get(record.id),
      leases: deps.boxes.holds(record.id),
      jobs: deps.boxes.holds(record.id, "job"),
      idleMs: deps.boxes.idleMs(record.id),
      container: record.container === null ? null : (states.get(record.container) ?? null),
    };
    return describeBox(record, facts, deps.defaults);
  });
}

async function readStates(
  deps: SessionBoxesDeps,
  records: readonly SessionRecord[],
  options: CallOptions,
): Promise<ReadonlyMap<string, ContainerState>> {
  const named = records.flatMap(({ container }) => container ?? []);
  const [only, ...others] = named;
  if (only === undefined) return new Map();
  try {
    if (others.length > 0) {
      const { containers } = await deps.backend.listOwned(options);
      return new Map(containers.map(({ name, state }) => [name, state]));
    }
    const found = await deps.backend.inspect(only, options);
    return new Map(found === null ? [] : [[only, found.state]]);
  } catch (error) {
    options.signal.throwIfAborted();
    if (!(error instanceof ServiceError) || error.code !== "box.engine_unavailable") throw error;
    return new Map();
  }
}
