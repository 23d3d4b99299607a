/** Receivers of signed calls about runs (api §8). */
import { z } from "zod";

export const webhooksSchema = z
  .array(
    z.strictObject({
      url: z
        .string()
        .regex(/^https?:\/\/[^\s]+$/u, { abort: true })
        .refine((address) => URL.canParse(address))
        .meta({
          description:
            "Where calls go. An address in a private range has to be listed in `outbound.allowed_private_hosts`.",
          allowed: "an http or https address",
        }),
      secret: z
        .string()
        .regex(/^(?:whsec_[A-Za-z0-9+/]{32,}={0,2}|(?!whsec_)[\x21-\x7e]{24,512})$/u)
        .meta({
          description: "Key of the signatures (Standard Webhooks).",
          allowed: "`whsec_` and base64, or 24 to 512 printable characters without spaces",
          secret: true,
        }),
      events: z
        .array(z.enum(["run.completed", "run.failed", "delivery.created"]))
        .max(3)
        .default(["run.completed", "run.failed"])
        .meta({ description: "What the receiver is told of." }),
      pipelines: z.array(z.string().min(1).max(64)).max(1000).nullable().default(null).meta({
        description: "Pipelines whose runs count; null = all.",
      }),
    }),
  )
  .max(64)
  .refine((receivers) => new Set(receivers.map(({ url }) => url)).size === receivers.length)
  .default([])
  .meta({ description: "Receivers of signed calls.", allowed: "receivers with different addresses" });
export type WebhookConfig = z.infer<typeof webhooksSchema>[number];
