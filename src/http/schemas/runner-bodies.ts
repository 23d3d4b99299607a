/** Answers of the route that shows runners and their forms (runs §4.1). */
import { z } from "zod";
import { configItemSchema, labelSchema } from "../../domain/runner-manifest.js";

export const runnerMetadataSchema = z
  .object({
    options: z.array(z.object({ name: z.string(), label: labelSchema })),
    stages: z.array(
      z.object({
        name: z.string(),
        label: labelSchema,
        items: z.array(configItemSchema.extend({ id: z.string() })),
      }),
    ),
  })
  .meta({ id: "RunnerMetadata" });
