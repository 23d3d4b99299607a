/** Settings of the boxes (box §10, §11). What is not said here comes from the profile. */
import { z } from "zod";
import { egressSchema } from "./egress-settings.js";

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
  host: z
    .string()
    .max(1024)
    .regex(
      /^(?:unix:\/\/\/[^\0]+|(?:tcp|https?):\/\/(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?\/?)?$/,
    )
    .default("")
    .meta({
      description: "Where the engine answers, as in DOCKER_HOST; empty = the default socket.",
      allowed:
        "empty, unix:///path/of/a/socket, tcp://host:port or https://host:port; an engine behind ssh is reached through a forwarded socket",
    }),
});

const MAX_EXTRA_MOUNTS = 32;

const hostPath = (description: string) =>
  z.string().regex(/^\//).max(4096).meta({ description, allowed: "an absolute path" });

const extraMountSchema = z.strictObject({
  source: hostPath("Directory or file on the engine's host; links are followed before it is checked."),
  target: hostPath("Where it is in the box; no place that a box has already."),
  read_only: z.boolean().default(true).meta({
    description:
      "Whether boxes may only read it. Their users have uids of their own from 30001 on: writing needs a place that all may write.",
  }),
});

export const boxesSchema = z.strictObject({
  enabled: z.boolean().default(true).meta({ description: "Whether runs may have boxes." }),
  image: z.string().min(1).max(512).default("berth-box:full").meta({ description: "Image of every box." }),
  allowed_images: z.array(z.string().min(1).max(512)).max(32).default([]).meta({
    description:
      "Images that a runner may choose instead for a box it acquires; with a required reuse key none. Empty = none.",
  }),
  profile: z.enum(BOX_PROFILES).default("default").meta({
    description: "Named set of limits; those with a network reach hosts through the broker (`boxes.egress`).",
  }),
  network: z.enum(["on", "off"]).nullable().default(null).meta({
    description:
      "Whether boxes reach hosts outside, through the broker alone; null = the profile's, and offline_readonly stays off.",
  }),
  egress: egressSchema.prefault({}).meta({ description: "What boxes with a network may reach." }),
  idle_ttl_sec: z.int().min(-1).max(2_592_000).default(300).meta({
    description:
      "Idle time after which a box is stopped: its processes end, its workspace is kept; 0 or less = never, and no box is paused.",
    unit: "s",
  }),
  pause_after_sec: z.int().min(-1).max(2_592_000).default(30).meta({
    description:
      "Idle time after which a box is paused: its processes stand still and keep their memory; 0 or less = never.",
    unit: "s",
  }),
  remove_after_sec: z.int().min(0).max(2_592_000).default(3600).meta({
    description:
      "Idle time after which the container of a stopped box is removed, its workspace kept; up to the time to stop = removed rather than stopped.",
    unit: "s",
  }),
  persistent: z.boolean().default(false).meta({
    description:
      "Whether boxes wait 7 days before they are rested for being idle, unless boxes.idle_ttl_sec says more or never.",
  }),
  max_boxes: z.int().min(1).max(HARD_MAX_BOXES).default(64).meta({
    description:
      "Boxes at one time: running and paused ones, those being created or closed, and those of the warm pool; stopped ones are not counted.",
  }),
  warm_pool: z.int().min(0).max(16).default(1).meta({
    description:
      "Boxes that run before anybody needs them, so that the first command of a new session does not wait for its box. Each takes about 8 MiB of memory and an empty workspace; 0 = none.",
  }),
  workspace_mb: z.int().min(0).max(1_048_576).nullable().default(null).meta({
    description: "Disk quota of a workspace; 0 = none, null = the profile's.",
    unit: "MiB",
  }),
  workspace_entries: z.int().min(1000).max(1_000_000).default(100_000).meta({
    description: "Files and directories that a workspace may hold.",
  }),
  disk_reserve_mb: z.int().min(0).max(1_048_576).default(2048).meta({
    description:
      "What boxes leave free of the disk that keeps the workspaces: below it no workspace is made, nothing is imported, and commands that write are stopped; 0 = none.",
    unit: "MiB",
  }),
  quota: z.enum(["auto", "loop", "watchdog"]).default("auto").meta({
    description:
      "What keeps the disk quota: a file system for each workspace (loop), or a watch while commands run (watchdog); auto = the best that this machine can do. The status names what is in force.",
    allowed:
      "one of auto, loop, watchdog; project quotas of an engine are not offered, because nothing proves that a box is held to one",
  }),
  workspace_ttl_days: z.int().min(0).max(36_500).default(14).meta({
    description: "How long a workspace is kept after its last use; 0 = for ever.",
    unit: "days",
  }),
  required_reuse_key: z.string().min(1).max(1024).nullable().default(null).meta({
    description:
      "The one reuse key of every tenant: all runs share the tenant's box of this key, whatever their templates say; null = keys come from the templates.",
    allowed: "1 to 1024 characters, or null",
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
  runtime: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/)
    .nullable()
    .default(null)
    .meta({
      description:
        "Runtime of the engine that carries the boxes, as `runsc` or `kata`; null = the engine's own choice. Where it is missing or fails its test at start, boxes are refused.",
      allowed: "the name of a runtime of the engine, or null",
    }),
  env: z
    .record(z.string().regex(/^(?!BERTH_)[A-Za-z_][A-Za-z0-9_]*$/), z.string().max(32_768))
    .default({})
    .meta({
      description:
        "Variables of every command in a box, before the command's own. Boxes can read them: no secrets.",
      allowed:
        "a group of texts by names of letters, digits and underscores; those that begin with BERTH_ are taken",
    }),
  extra_mounts: z.array(extraMountSchema).max(MAX_EXTRA_MOUNTS).default([]).meta({
    description: "Directories and files of the host that every box has, besides its workspace.",
  }),
  allowed_mount_roots: z
    .array(hostPath("A directory inside which sources of extra mounts may lie; never `/`."))
    .max(MAX_EXTRA_MOUNTS)
    .default([])
    .meta({
      description:
        "Directories inside which sources of extra mounts must lie, links followed. Empty = no extra mounts.",
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
