/** Answers of the operations routes, and the error envelope (api §1.4, §7). */
import { z } from "zod";

export const errorSchema = z
  .object({
    error: z.object({
      message: z.string(),
      type: z.enum([
        "invalid_request_error",
        "authentication_error",
        "not_found_error",
        "conflict_error",
        "rate_limit_error",
        "server_error",
      ]),
      code: z.string(),
      param: z.string().optional(),
      hint: z.string().optional(),
      request_id: z.string(),
    }),
  })
  .meta({ id: "Error" });

export const healthSchema = z.object({ status: z.literal("ok") }).meta({ id: "Health" });

export const partSchema = z.object({
  name: z.string(),
  ok: z.boolean(),
  reason: z.string().nullable(),
});

export const readinessSchema = z
  .object({
    status: z.enum(["ready", "not_ready"]),
    parts: z.array(partSchema),
    error: errorSchema.shape.error.optional(),
  })
  .meta({ id: "Readiness" });
