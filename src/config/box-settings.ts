/** Settings of the boxes (box §10, §11). What is not said here comes from the profile. */
import { z } from "zod";

export const BOX_PROFILES = ["default", "offline_readonly", "network_basic", "network_extended"] as const;

/** One uid per live session of an engine bounds the boxes of a service (security §3.1). */
const HARD_MAX_BOXES = 5000;

const engineSchema = z.strictObject({
  name: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/)
    .default("local")
    .meta({
      description: "Name of the engine in the records; sessions stay with the engine that holds their files.",
      allowed: "1 to 64 letters, digits, dots, underscores and dashes",
    }),
  host: z.string().max(1024).default("").meta({
    description: "Where the engine answers, as in DOCKER_HOST; empty = the default socket.",
  }),
});

export const boxesSchema = z.strictObject({
  enabled: z.boolean().default(true).meta({ description: "Whether runs may have boxes." }),
  image: z.string().min(1).max(512).default("berth-box:full").meta({ description: "Image of every box." }),
  profile: z.enum(BOX_PROFILES).default("default").meta({
    description:
      "Named set of limits. Profiles with a network are refused: this version gives boxes no network.",
  }),
  idle_ttl_sec: z.int().min(-1).max(2_592_000).default(300).meta({
    description: "Idle time after which a box is rested, its workspace kept; 0 or less = never.",
    unit: "s",
  }),
  max_boxes: z.int().min(1).max(HARD_MAX_BOXES).default(64).meta({
    description: "Boxes at one time, those being created or closed included.",
  }),
  warm_pool: z.literal([0, 1]).default(1).meta({
    description: "Containers kept ready that belong to nobody yet. Not served by this version.",
    allowed: "0 or 1: this version makes boxes when they are needed",
  }),
  workspace_mb: z.int().min(0).max(1_048_576).nullable().default(null).meta({
    description: "Disk quota of a workspace; 0 = none, null = the profile's.",
    unit: "MiB",
  }),
  workspace_ttl_days: z.int().min(0).max(36_500).default(14).meta({
    description: "How long a workspace is kept after its last use; 0 = for ever.",
    unit: "days",
  }),
  cpus: z.number().positive().max(1024).nullable().default(null).meta({
    description: "CPUs of a box; null = the profile's.",
  }),
  memory_mb: z.int().min(32).max(1_048_576).nullable().default(null).meta({
    description: "Memory of a box, swap included; null = the profile's.",
    unit: "MiB",
  }),
  pids_limit: z.int().min(1).max(1_000_000).nullable().default(null).meta({
    description: "Processes and threads of a box; null = the profile's.",
  }),
  read_only_rootfs: z.boolean().nullable().default(null).meta({
    description: "Whether all but the workspace and /tmp is read-only; null = the profile's.",
  }),
  workspace_mode: z.enum(["rw", "ro"]).nullable().default(null).meta({
    description: "Whether commands may change the workspace; null = the profile's.",
  }),
  exec_timeout_sec: z.int().min(1).max(3600).nullable().default(null).meta({
    description: "Time of a command that names none; null = the profile's. The profile's maximum stays.",
    unit: "s",
  }),
  engines: z
    .array(engineSchema)
    .min(1)
    .max(1)
    .default([{ name: "local", host: "" }])
    .meta({
      description: "The container engine that carries the boxes.",
      allowed: "a list of exactly one engine: this version works with one",
    }),
});
