/** Packages of others: where they are, and what the process of each may have. */
import { z } from "zod";
import type { Environment } from "./interpolate.js";

const packageId = z
  .string()
  .regex(/^[A-Za-z0-9._-]{1,100}\/[A-Za-z0-9._-]{1,100}$/)
  .meta({ allowed: "<author>/<plugin>" });

const variableName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/)
  .meta({ allowed: "letters, digits and underscores" });

export const pluginsSchema = z.strictObject({
  directory: z.string().min(1).max(1024).default("./plugins").meta({
    description: "Where runner packages are kept, a directory for each.",
  }),
  enabled: z.boolean().default(true).meta({ description: "Whether runner packages are loaded." }),
  memory_mb: z.int().min(96).max(65_536).default(256).meta({
    description: "Memory of a package's process whose manifest says nothing else.",
    unit: "MiB",
  }),
  start_timeout_sec: z.int().min(1).max(600).default(30).meta({
    description: "Time that a package's process has to load its entry.",
    unit: "s",
  }),
  heartbeat_sec: z.int().min(1).max(600).default(10).meta({
    description: "Time without a sign of life of its main loop after which a package's process is ended.",
    unit: "s",
  }),
  event_timeout_sec: z.int().min(1).max(600).default(5).meta({
    description: "Time that a package has to answer an event before its run.",
    unit: "s",
  }),
  environment: z
    .record(packageId, z.record(variableName, z.string().max(8192).meta({ secret: true })))
    .default({})
    .meta({
      description:
        "Variables of the processes of single packages, by `<author>/<plugin>`. They get nothing else of the service's environment but PATH, LANG and TZ. Taken as secrets: masked in logs and results.",
      allowed: "a group of variables for each package",
    }),
});

const PASSED_ON = ["PATH", "LANG", "TZ"] as const;
const DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin";

/** What every process of a package has in its environment. */
export function packageEnvironment(environment: Environment): Readonly<Record<string, string>> {
  const passed = PASSED_ON.flatMap((name) => {
    const value = environment[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { PATH: DEFAULT_PATH, ...Object.fromEntries(passed) };
}
