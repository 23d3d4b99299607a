/** Bodies and queries of the session and box routes (api §4, box §3). */
import { z } from "zod";
import { boxStateSchema } from "../../domain/box.js";
import { CONTROL_NAMES, CONTROL_STATES } from "../../domain/box-control.js";
import { runIdSchema, sessionIdSchema } from "../../domain/ids.js";

const MAX_DEPTH = 32;
const time = z.string().meta({ description: "RFC 3339 UTC." });
const flag = z.enum(["true", "false"]).default("false");
const path = z
  .string()
  .min(1)
  .max(10_000)
  .meta({ description: "Below /workspace; a relative one is taken from there." });

export const listSessionsQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(100).default(20),
  after: z.string().max(200).optional().meta({ description: "`next_cursor` of the page before." }),
});

export const deleteSessionQuery = z.strictObject({
  force: flag.meta({ description: "Also while a run, a command or a file request uses the box." }),
});

export const listSessionFilesQuery = z.strictObject({
  path: path.default("/workspace"),
  depth: z.coerce
    .number()
    .int()
    .min(1)
    .max(MAX_DEPTH)
    .default(1)
    .meta({ description: "1 = the directory's own entries." }),
});

export const contentQuery = z.strictObject({ path });

export const deleteContentQuery = z.strictObject({
  path,
  recursive: flag.meta({ description: "A directory with everything below it." }),
});

const networkSchema = z.enum(["none", "broker"]);

const limitsShape = {
  cpus: z.number(),
  memory_mb: z.number(),
  pids_limit: z.int(),
  workspace_quota_mb: z.number().meta({ description: "0 = none." }),
  read_only_rootfs: z.boolean(),
  workspace_mode: z.enum(["rw", "ro"]),
  exec_timeout_sec: z.number(),
  exec_max_timeout_sec: z.number(),
};

const boxShape = {
  state: boxStateSchema.meta({
    description:
      "`none`: nothing on the engine. `stopped`: the workspace without processes. `lost`: not on the engine, or it does not answer.",
  }),
  engine: z.string(),
  jobs: z.int().meta({ description: "Jobs that run." }),
  activity: z.object({
    leases: z.int().meta({
      description: "Runs, commands, file requests, jobs and terminals that hold the box at this moment.",
    }),
    idle_sec: z.int().nullable().meta({ description: "Since the last of them ended." }),
  }),
  image: z.string().nullable(),
  network: networkSchema.nullable(),
  profile: z.string(),
  limits: z.object(limitsShape).nullable(),
};

export const boxEntrySchema = z
  .object({
    session_id: z.string(),
    key: z.string().meta({ description: "The rendered reuse key." }),
    created_at: time,
    last_used_at: time,
    ...boxShape,
  })
  .meta({ id: "BoxEntry" });

const sessionShape = {
  id: sessionIdSchema,
  object: z.literal("session"),
  key: z.string().meta({ description: "The rendered reuse key." }),
  created_at: time,
  last_used_at: time,
  box: z.object(boxShape),
};

export const sessionSchema = z
  .object({
    ...sessionShape,
    chats: z
      .array(z.object({ launcher_type: z.string(), launcher_id: z.string(), last_run_at: time }))
      .meta({ description: "Chats of its newest 1000 runs, the one that spoke last first." }),
    active_runs: z.array(runIdSchema).meta({ description: "Runs that have not ended, newest first." }),
  })
  .meta({ id: "Session" });

export const sessionSummarySchema = z.object(sessionShape).meta({ id: "SessionSummary" });

export const sessionListSchema = z
  .object({
    object: z.literal("list"),
    data: z.array(sessionSummarySchema),
    has_more: z.boolean(),
    next_cursor: z.string().nullable(),
  })
  .meta({ id: "SessionList" });

export const deletedSessionSchema = z
  .object({ id: sessionIdSchema, object: z.literal("session"), deleted: z.literal(true) })
  .meta({ id: "DeletedSession" });

export const sessionFileSchema = z
  .object({
    path: z.string(),
    kind: z.enum(["file", "directory", "link", "other"]),
    bytes: z.number().int().nonnegative(),
    modified_at: time,
  })
  .meta({ id: "SessionFile" });

export const sessionFilesSchema = z
  .object({
    object: z.literal("list"),
    path: z.string(),
    data: z.array(sessionFileSchema),
    truncated: z.boolean().meta({ description: "There are more entries than are listed." }),
  })
  .meta({ id: "SessionFileList" });

export const deletedContentSchema = z
  .object({ path: z.string(), object: z.literal("session.file"), deleted: z.literal(true) })
  .meta({ id: "DeletedSessionFile" });

export const execSchema = z
  .strictObject({
    command: z.string().min(1).meta({ description: "Run with sh -lc as the box user." }),
    workdir: z.string().min(1).optional().meta({ description: "Created if missing. Default: /workspace." }),
    timeout_sec: z.number().positive().optional(),
    env: z.record(z.string(), z.string()).optional(),
    stream: z.boolean().default(false),
  })
  .meta({ id: "Exec" });

/** box §12.4; what else the tool says goes out as it is. */
export const execResultSchema = z
  .looseObject({
    session_id: z.string(),
    status: z.enum(["completed", "timed_out", "cancelled", "killed"]),
    ok: z.boolean(),
    exit_code: z.int().nullable(),
    stdout: z.string(),
    stderr: z.string(),
    stdout_truncated: z.boolean(),
    stderr_truncated: z.boolean(),
    stdout_bytes: z.int(),
    stderr_bytes: z.int(),
    duration_ms: z.number(),
    preview: z.string(),
    truncated: z.boolean(),
    truncated_by: z.enum(["chars", "bytes"]).nullable(),
    output_path: z.string().optional(),
    notes: z.array(z.string()),
  })
  .meta({ id: "ExecResult" });

/** Data of one server-sent event: pieces of output, then one of the others. */
export const execEventSchema = z
  .discriminatedUnion("type", [
    z.object({
      type: z.literal("tool.output"),
      data: z.object({ stream: z.enum(["stdout", "stderr"]), text: z.string() }),
      session_id: z.string(),
    }),
    z.object({
      type: z.literal("tool.call.completed"),
      data: execResultSchema,
      session_id: z.string(),
    }),
    z.object({
      type: z.literal("error"),
      data: z.record(z.string(), z.unknown()).meta({ description: "The error envelope." }),
      session_id: z.string(),
    }),
  ])
  .meta({ id: "ExecEvent" });

export const boxStatusSchema = z
  .object({
    enabled: z.boolean(),
    available: z.boolean(),
    limit: z.int().nullable().meta({ description: "Boxes there may be; null = unknown." }),
    used: z.int().nullable(),
    remaining: z.int().nullable(),
    required_reuse_key: z.string().nullable(),
    reason: z.string().nullable(),
    isolation: z.array(z.string()).meta({ description: "What is really in force, by name." }),
    quota: z.string(),
    export_paths: z.boolean(),
    engines: z.array(
      z.object({
        name: z.string(),
        version: z.string().nullable(),
        images: z.array(z.string()),
        warnings: z.array(z.string()),
        transport: z
          .enum(["socket", "exec_stream", "worker"])
          .nullable()
          .meta({ description: "How its boxes are reached; null until a box was wanted." }),
        controls: z
          .array(z.object({ name: z.enum(CONTROL_NAMES), state: z.enum(CONTROL_STATES), detail: z.string() }))
          .meta({ description: "What the self-check found; empty while it has no answer." }),
      }),
    ),
    limits: z.object({
      max_boxes: z.int(),
      idle_ttl_sec: z.number(),
      workspace_ttl_days: z.number(),
      profile: z.string(),
      network: networkSchema.meta({
        description: "Of new boxes. `broker`: no route; a broker in the service carries what they may reach.",
      }),
      ...limitsShape,
    }),
    boxes: z.array(boxEntrySchema).optional().meta({ description: "For admin keys only." }),
    recent_errors: z
      .array(z.object({ timestamp: time, code: z.string(), message: z.string() }))
      .optional()
      .meta({ description: "The newest 50, in order; for admin keys only." }),
  })
  .meta({ id: "BoxStatus" });
