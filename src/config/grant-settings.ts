/** The control plane that grants boxes to tenants (box §16.3). */
import { z } from "zod";

export const grantsSchema = z
  .strictObject({
    url: z
      .url({ protocol: /^https?$/ })
      .max(2048)
      .meta({
        description: "Where grants are asked for: `GET <url>/<grant id>?tenant=<tenant>`.",
        allowed: "an http or https address",
      }),
    token: z.string().min(1).max(4096).nullable().default(null).meta({
      description: "Sent to the control plane as a bearer token; null = none.",
      secret: true,
    }),
    refresh_sec: z.int().min(1).max(240).default(60).meta({
      description: "How often grants are renewed; a grant lasts at most 300 s.",
      unit: "s",
    }),
    ids: z.record(z.string().max(64), z.string().min(1).max(200)).default({}).meta({
      description: "Ids of grants by tenant. A tenant that is not listed has the grant of its own name.",
      allowed: "a group of ids, one for each tenant",
    }),
  })
  .nullable()
  .default(null)
  .meta({ description: "Grants of a control plane; null = every tenant may use boxes." });
