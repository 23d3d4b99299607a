/**
 * Settings of the contract that this version does not serve: they may stand in a file with their default values, and
 * anything else is refused, so that no setting is ignored in silence.
 */
import { z } from "zod";

const NOT_SERVED = "this version does not serve it";

const emptyList = (what: string) =>
  z
    .array(z.unknown())
    .max(0)
    .default([])
    .meta({ description: `${what} Not served by this version.`, allowed: `an empty list: ${NOT_SERVED}` });

/** A setting whose only accepted value is its default. */
const fixed = <const Value extends string | boolean | null>(value: Value, what: string) =>
  z
    .literal(value)
    .default(value)
    .meta({ description: `${what} Not served by this version.`, allowed: `${String(value)}: ${NOT_SERVED}` });

const tenantCaps = z.strictObject({
  max_boxes: fixed(null, "Boxes of the tenant."),
  max_jobs: fixed(null, "Jobs of the tenant."),
  max_disk_mb: fixed(null, "Disk of the tenant."),
  max_runs: fixed(null, "Runs of the tenant at one time."),
  runs_per_minute: fixed(null, "New runs of the tenant."),
});

export const laterShape = {
  knowledge_bases: emptyList("Knowledge bases."),
  tenants: z
    .record(z.string(), tenantCaps)
    .default({})
    .meta({
      description: "Caps of single tenants. Not served by this version.",
      allowed: `a group whose caps are all null: ${NOT_SERVED}`,
    }),
  skills: z
    .strictObject({ directory: fixed("./skills", "Where skills are kept.") })
    .prefault({})
    .meta({ description: "Skills." }),
};
