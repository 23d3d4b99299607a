/** What boxes with a network may reach, and how much they may move (box §10.6, security §5). */
import { z } from "zod";
import { EGRESS_ENTRY, EGRESS_HOST, isEgressEntry } from "../domain/egress-rules.js";

/** What makes a request the request it is; a secret there would be another thing. */
const UNFIT_HEADERS = new Set([
  "host",
  "connection",
  "content-length",
  "transfer-encoding",
  "expect",
  "upgrade",
  "te",
  "trailer",
  "accept-encoding",
]);
const HOST = "a host name or address, optionally with :port";

const secretHeaderSchema = z.strictObject({
  host: z
    .string()
    .refine((text) => EGRESS_HOST.test(text) && isEgressEntry(text))
    .meta({ description: "The one host that gets the header; port 80 if it names none.", allowed: HOST }),
  header: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9-]{0,127}$/)
    .refine((name) => !UNFIT_HEADERS.has(name.toLowerCase()))
    .meta({
      description: "Name of the header.",
      allowed: "a header name of letters, digits and dashes; none that frames the request",
    }),
  value: z
    .string()
    .min(8)
    .max(8192)
    .regex(/^[\x21-\x7e][\x20-\x7e]*[\x21-\x7e]$/)
    .meta({
      description: "Its value, which no box sees.",
      allowed: "8 to 8192 printable characters",
      secret: true,
    }),
});

const entry = z.string().refine((text) => EGRESS_ENTRY.test(text) && isEgressEntry(text));
const host = z.string().refine((text) => EGRESS_HOST.test(text) && isEgressEntry(text));

export const egressSchema = z.strictObject({
  allow_hosts: z
    .array(entry.meta({ allowed: "a host name or address, optionally with a leading dot and :port" }))
    .max(1000)
    .default([])
    .meta({
      description:
        "Hosts that boxes may reach at ports 80 and 443, or at the port an entry names; `.example.org` stands for the name and all below it. Empty = any host with a public address.",
    }),
  private_hosts: z
    .array(host.meta({ allowed: HOST }))
    .max(1000)
    .default([])
    .meta({
      description: "Hosts with private addresses that boxes may reach all the same, each listed by itself.",
    }),
  secret_headers: z.array(secretHeaderSchema).max(100).default([]).meta({
    description:
      "Headers that the broker adds to plain HTTP requests for one host, outside of the box, and takes out of the answers.",
  }),
  max_connections: z.int().min(1).max(64).default(32).meta({
    description: "Connections of one box at one time; more wait in the box.",
  }),
  max_mb_per_hour: z.int().min(1).max(1_048_576).default(1024).meta({
    description: "What one session may move in an hour, both directions together.",
    unit: "MiB",
  }),
  connection_sec: z.int().min(1).max(86_400).default(1800).meta({
    description: "Longest time of one connection.",
    unit: "s",
  }),
  idle_sec: z.int().min(1).max(3600).default(120).meta({
    description: "Time after which a connection ends through which nothing goes.",
    unit: "s",
  }),
});
