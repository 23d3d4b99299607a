/** The fields we read of the engine's answers; everything else is ignored. */
import { z } from "zod";

const labelsSchema = z
  .record(z.string(), z.string())
  .nullish()
  .transform((labels) => labels ?? {});

export const engineInfoSchema = z.object({
  ServerVersion: z.string(),
  OSType: z.string().default("linux"),
  SecurityOptions: z
    .array(z.string())
    .nullish()
    .transform((options) => options ?? []),
  MemoryLimit: z.boolean().default(false),
  SwapLimit: z.boolean().default(false),
  PidsLimit: z.boolean().default(false),
  CpuCfsQuota: z.boolean().default(false),
  Runtimes: z
    .record(z.string(), z.unknown())
    .nullish()
    .transform((runtimes) => Object.keys(runtimes ?? {})),
  /** Where it keeps plain volumes, as its own host names it; empty where it does not tell. */
  DockerRootDir: z.string().default(""),
});
export type EngineInfo = z.infer<typeof engineInfoSchema>;

export const engineVersionSchema = z.object({
  Version: z.string(),
  Components: z
    .array(z.object({ Name: z.string(), Version: z.string() }))
    .nullish()
    .transform((components) => components ?? []),
});
export type EngineVersion = z.infer<typeof engineVersionSchema>;

export const imageViewSchema = z.object({
  Config: z.object({ Volumes: z.record(z.string(), z.unknown()).nullish() }).nullish(),
});

export const createdSchema = z.object({ Id: z.string().min(1) });

export const volumeViewSchema = z.object({
  Name: z.string(),
  Labels: labelsSchema,
  /** What the driver was given. */
  Options: labelsSchema,
});
export type VolumeView = z.infer<typeof volumeViewSchema>;

export const volumeListSchema = z.object({
  Volumes: z
    .array(volumeViewSchema)
    .nullish()
    .transform((volumes) => volumes ?? []),
});

const idleVolumeSchema = z.object({
  Name: z.string(),
  Labels: labelsSchema,
  /** RFC 3339; some drivers do not tell it. */
  CreatedAt: z.string().default(""),
});
export type IdleVolume = z.infer<typeof idleVolumeSchema>;

export const idleVolumeListSchema = z.object({
  Volumes: z
    .array(idleVolumeSchema)
    .nullish()
    .transform((volumes) => volumes ?? []),
});

export const waitSchema = z.object({ StatusCode: z.number().int() });

export const containerViewSchema = z.object({
  /** Id of the image it was made from. */
  Image: z.string().default(""),
  State: z.object({ Status: z.string(), StartedAt: z.string() }),
  Config: z.object({ Labels: labelsSchema }),
  HostConfig: z.object({ Memory: z.number().default(0), PidsLimit: z.number().nullish() }),
  Mounts: z.array(z.object({ Name: z.string().nullish() })).nullish(),
});
export type ContainerView = z.infer<typeof containerViewSchema>;

/** One row for each process, with the columns that were asked for. */
export const processListSchema = z.object({ Processes: z.array(z.array(z.string())) });

export const containerListSchema = z.array(
  z.object({
    Names: z.array(z.string()),
    State: z.string(),
    /** Unix seconds. */
    Created: z.number(),
    Labels: labelsSchema,
  }),
);
export type ContainerSummary = z.infer<typeof containerListSchema>[number];

export const execViewSchema = z.object({
  Running: z.boolean(),
  ExitCode: z.number().int().nullable(),
  Pid: z.number().int(),
});
export type ExecView = z.infer<typeof execViewSchema>;
