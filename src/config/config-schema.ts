/**
 * Every setting of the service: default, unit, limit and one sentence (api §8). docs/settings.md is generated from it.
 * Loading is load-config's work; nothing reads the configuration again during a run.
 */
import { z } from "zod";
import { botsSchema } from "./bot-settings.js";
import { boxesSchema } from "./box-settings.js";
import { compatSchema } from "./compat-settings.js";
import { grantsSchema } from "./grant-settings.js";
import { laterShape } from "./later-settings.js";
import { mcpServerSchema } from "./mcp-settings.js";
import { modelSchema } from "./model-settings.js";
import { pipelineSchema } from "./pipeline-settings.js";
import { pluginsSchema } from "./plugin-settings.js";
import { limitsSchema, serverSchema } from "./server-settings.js";
import { webhooksSchema } from "./webhook-settings.js";

const MIB = 1024 * 1024;

const storageSchema = z.strictObject({
  directory: z.string().min(1).max(1024).default("./data").meta({
    description: "Directory of everything the service keeps; made if it is missing.",
  }),
  database: z
    .string()
    .regex(/^sqlite:.+$/)
    .nullable()
    .default(null)
    .meta({
      description: "The database; null = `berth.db` in the directory.",
      allowed: "sqlite:<path of a file>, or null: this version works with SQLite",
    }),
  files: z.string().min(1).max(1024).nullable().default(null).meta({
    description: "Directory of uploaded and delivered bytes; null = `files` in the directory.",
  }),
  retention_days: z.int().min(1).max(36_500).default(30).meta({
    description: "How long uploaded and delivered files and the records of events are kept.",
    unit: "days",
  }),
});

const inboundSchema = z.strictObject({
  max_file_bytes: z
    .int()
    .min(1)
    .max(4096 * MIB)
    .default(10 * MIB)
    .meta({
      description: "Largest file that comes in: an attachment or an upload.",
      unit: "bytes",
    }),
  max_files: z.int().min(0).max(1000).default(20).meta({ description: "Attachments of one run." }),
  max_total_bytes: z
    .int()
    .min(1)
    .max(16_384 * MIB)
    .default(50 * MIB)
    .meta({
      description: "Attachments of one run together.",
      unit: "bytes",
    }),
  url_timeout_sec: z.int().min(1).max(600).default(30).meta({
    description: "Time to fetch one attachment that came as a URL.",
    unit: "s",
  }),
});

const exportSchema = z.strictObject({
  max_file_bytes: z
    .int()
    .min(1)
    .max(4096 * MIB)
    .default(10 * MIB)
    .meta({ description: "Largest file that a run delivers.", unit: "bytes" }),
  max_files: z.int().min(0).max(1000).default(100).meta({ description: "Files that one run delivers." }),
  max_total_bytes: z
    .int()
    .min(1)
    .max(16_384 * MIB)
    .default(50 * MIB)
    .meta({ description: "Files that one run delivers together.", unit: "bytes" }),
});

const privateHost = z
  .string()
  .regex(/^(?:\[[0-9A-Fa-f:.]+\]|[^\s:/?#@[\]]+)(?::\d{1,5})?$/)
  .meta({ allowed: "a host name or address, optionally with :port" });

export const settingsSchema = z.strictObject({
  server: serverSchema.prefault({}).meta({ description: "The HTTP surface." }),
  limits: limitsSchema.prefault({}).meta({ description: "What callers may ask for." }),
  storage: storageSchema.prefault({}).meta({ description: "Where data is kept, and how long." }),
  models: z.array(modelSchema).max(256).default([]).meta({
    description:
      "Models that pipelines may select, besides the built-in `demo`. Empty = the model of OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL, else only `demo`.",
  }),
  boxes: boxesSchema.prefault({}).meta({ description: "Boxes and their engine." }),
  default_pipeline: z.string().min(1).max(64).default("default").meta({
    description: "Pipeline of requests that name none.",
  }),
  pipelines: z.array(pipelineSchema).max(1000).default([]).meta({
    description: "Pipelines. Empty = one with the local agent and the first model.",
  }),
  bots: botsSchema,
  inbound: inboundSchema.prefault({}).meta({ description: "Files on their way in." }),
  export: exportSchema.prefault({}).meta({ description: "Files on their way out." }),
  exec: z
    .strictObject({
      output_chars: z.int().min(200).max(20_000).default(4000).meta({
        description: "What the model sees of each output stream of a command.",
        unit: "characters",
      }),
    })
    .prefault({})
    .meta({ description: "Commands in boxes." }),
  jobs: z
    .strictObject({
      max_running: z.int().min(0).max(1024).default(64).meta({
        description: "Jobs of all boxes at one time.",
      }),
      max_ended: z.int().min(0).max(10_000).default(256).meta({
        description: "Records of ended jobs that are kept, each with up to 256 KiB of output.",
      }),
      ended_ttl_sec: z.int().min(0).max(86_400).default(300).meta({
        description: "How long the record of an ended job is kept.",
        unit: "s",
      }),
      max_terminals: z.int().min(0).max(1024).default(32).meta({
        description: "Terminals of all boxes at one time.",
      }),
    })
    .prefault({})
    .meta({ description: "Jobs and terminals in boxes." }),
  tools: z
    .strictObject({
      call_timeout_sec: z.int().min(1).max(3600).default(120).meta({
        description: "Time of one tool call; exec has its own.",
        unit: "s",
      }),
    })
    .prefault({})
    .meta({ description: "Tools." }),
  runs: z
    .strictObject({
      deadline_sec: z.int().min(1).max(3600).default(300).meta({
        description: "End of a run after its start, unless the pipeline says otherwise.",
        unit: "s",
      }),
    })
    .prefault({})
    .meta({ description: "Runs." }),
  outbound: z
    .strictObject({
      allowed_private_hosts: z.array(privateHost).max(1000).default([]).meta({
        description:
          "Hosts in private address ranges that attachment URLs may name. Addresses of models are not guarded.",
      }),
    })
    .prefault({})
    .meta({ description: "What the service fetches for others." }),
  log: z
    .strictObject({
      level: z.enum(["error", "warn", "info", "debug"]).default("info").meta({
        description: "Least severe lines that are written.",
      }),
    })
    .prefault({})
    .meta({ description: "The log." }),
  plugins: pluginsSchema.prefault({}).meta({ description: "Runner packages of others." }),
  shutdown_grace_sec: z.int().min(0).max(3600).default(30).meta({
    description: "Time that running work gets to finish when the service is told to stop.",
    unit: "s",
  }),
  compat: compatSchema,
  mcp_servers: z.array(mcpServerSchema).max(64).default([]).meta({
    description: "MCP servers whose tools pipelines may select.",
  }),
  webhooks: webhooksSchema,
  grants: grantsSchema,
  ...laterShape,
});

/** Settings as they stand in a file, defaults filled in. */
export type Settings = z.infer<typeof settingsSchema>;

/** Where everything is kept: absolute paths. */
export interface StorageConfig {
  readonly directory: string;
  readonly database: { readonly kind: "sqlite"; readonly path: string };
  readonly files: string;
  readonly retention_days: number;
}

/** Packages of others: an absolute path, and what their processes are started with. */
export type PluginsConfig = Settings["plugins"] & {
  /** Path of the Node program. */
  readonly execPath: string;
  /** The whole environment of such a process, besides what `environment` says of its package. */
  readonly baseEnvironment: Readonly<Record<string, string>>;
};

type Served = Omit<Settings, "storage" | "plugins" | keyof typeof laterShape>;

/** What the service works with: settings with storage resolved, models and pipelines filled in. */
export interface Config extends Served {
  readonly storage: StorageConfig;
  readonly plugins: PluginsConfig;
}
