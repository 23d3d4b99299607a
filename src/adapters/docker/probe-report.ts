/** What `boxd probe` says of the box it runs in. It is read from untrusted ground: bounded, and every field checked. */
import { z } from "zod";
import { ServiceError } from "../../domain/errors.js";

/** A report is about 1 KiB long. */
export const MAX_REPORT_BYTES = 64 * 1024;

const MAX_NAMES = 64;
const names = z.array(z.string().regex(/^[ -~]{0,64}$/)).max(MAX_NAMES);
/** An errno by name, `allowed`, `unknown` or `other`. */
const outcome = z.string().regex(/^[A-Za-z]{1,16}$/);
/** -1 = unknown, or no limit where that is how the kernel says it. */
const limit = z.number().min(-1);
const count = z.number().nonnegative();

const reportSchema = z.object({
  probe: z.literal(1),
  first_uid: z.number().min(-1),
  uid: count,
  gid: count,
  capabilities: z.string().regex(/^[0-9a-f]{1,16}$/),
  no_new_privileges: z.number(),
  seccomp: z.number(),
  limits: z.object({ file_bytes: limit, open_files: limit, core_bytes: limit }),
  security_label: z.string().max(64),
  calls: z.object({
    io_uring_setup: outcome,
    vsock: outcome,
    ptrace: outcome,
    mount: outcome,
    unshare: outcome,
    large_file: outcome,
    first_process: outcome,
  }),
  reaped: z.boolean().nullable(),
  root_read_only: z.boolean(),
  kernel_settings_read_only: z.boolean(),
  shared_memory: count,
  workspace: z.object({ apart: z.boolean(), read_only: z.boolean(), bytes: count, entries: count }),
  cgroup: z.object({
    private: z.boolean(),
    memory: limit,
    memory_and_swap: limit,
    pids: limit,
    cpu_quota: limit,
    cpu_period: limit,
  }),
  interfaces: names,
  devices: names,
  engine_sockets: names,
  env: names,
});
export type ProbeReport = z.output<typeof reportSchema>;

/** @throws ServiceError `box.readiness` for what is no report */
export function readProbeReport(text: string): ProbeReport {
  try {
    return reportSchema.parse(JSON.parse(text));
  } catch (cause) {
    throw new ServiceError("box.readiness", "The self-check gave a report that cannot be read.", {
      hint: "Build the helper's image anew with `npm run image -- --target boxd`.",
      cause,
    });
  }
}
