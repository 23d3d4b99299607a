/** Settings of the surface: where the service listens, who may come in, how much they may ask. */
import { z } from "zod";

const name = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/);

export const tenantNameSchema = name.meta({
  description: "The tenant that everything done with the key belongs to.",
  allowed: "1 to 64 letters, digits, dots, underscores and dashes",
});

const keySchema = z.strictObject({
  key: z
    .string()
    .regex(/^[\x21-\x7e]{1,512}$/)
    .meta({
      description:
        "The secret a caller sends as `Authorization: Bearer KEY`. Off loopback it has at least 32 characters.",
      allowed: "1 to 512 printable ASCII characters without spaces",
      secret: true,
    }),
  tenant: tenantNameSchema,
  role: z.enum(["client", "admin"]).default("client").meta({
    description: "`client`: runs and files of the tenant; `admin`: also metrics and the state of boxes.",
  }),
  trust_identity_headers: z.literal(false).default(false).meta({
    description: "Whether headers that name a chat count for this key. Not served by this version.",
    allowed: "false: this version does not serve it",
  }),
});

export const serverSchema = z.strictObject({
  host: z.string().min(1).max(255).default("127.0.0.1").meta({
    description: "Address to listen on. Any but a loopback address needs a key.",
  }),
  port: z.int().min(0).max(65_535).default(8787).meta({
    description: "TCP port to listen on; 0 takes any free one.",
  }),
  public_url: z
    .string()
    .regex(/^https?:\/\/[^\s?#]+$/)
    .nullable()
    .default(null)
    .meta({
      description:
        "Address under which clients reach the service; signed links begin with it. Without it the address of the request is used.",
      allowed: "an http or https address without query, or null",
    }),
  keys: z.array(keySchema).max(1000).default([]).meta({
    description: "API keys. Without one the service stays on loopback and needs none.",
  }),
});

export const limitsSchema = z.strictObject({
  json_body_bytes: z
    .int()
    .min(1024)
    .max(256 * 1024 * 1024)
    .default(32 * 1024 * 1024)
    .meta({
      description: "Largest JSON body of a request, base64 content included.",
      unit: "bytes",
    }),
  requests_per_minute: z.int().min(1).max(1_000_000).default(6000).meta({
    description: "Requests of one tenant, all routes together.",
    unit: "per minute",
  }),
  runs_per_minute: z.int().min(1).max(1_000_000).default(600).meta({
    description: "New runs of one tenant.",
    unit: "per minute",
  }),
  event_streams: z.int().min(1).max(10_000).default(200).meta({
    description: "Open event streams of one tenant.",
  }),
  auth_failures_per_minute: z.int().min(1).max(10_000).default(30).meta({
    description: "Requests with a missing or wrong key from one address.",
    unit: "per minute",
  }),
});
