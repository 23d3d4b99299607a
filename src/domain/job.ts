/** Jobs: processes of a box that outlive the run that started them (box §14). */
import { z } from "zod";

/** Bytes of output that are kept of a job or a terminal, the newest ones. */
export const KEPT_OUTPUT_BYTES = 256 * 1024;
/** Characters of its standard error that are shown with a job. */
export const STDERR_PREVIEW_CHARS = 4000;
/** Seconds from TERM to the end of the whole tree. */
export const STOP_GRACE_SEC = 5;

/** Ids are free, so that a job can be replaced by name. */
export const jobIdSchema = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/);

/** A job as callers and models see it. */
export const jobInfoSchema = z.object({
  id: z.string(),
  status: z.enum(["running", "exited"]),
  exit_code: z
    .int()
    .nullable()
    .meta({ description: "Null while it runs, and when it did not end by itself." }),
  command: z.string().meta({ description: "The first 200 characters of its command." }),
  started_at: z.string().meta({ description: "RFC 3339 UTC." }),
  ended_at: z.string().nullable().meta({ description: "RFC 3339 UTC." }),
  stderr_preview: z.string().meta({ description: "At most 4000 characters of standard error." }),
  output_bytes: z.int().meta({ description: "Bytes of both streams so far." }),
  notes: z.array(z.string()).meta({ description: "What ended it, which limits struck." }),
});
export type JobInfo = z.infer<typeof jobInfoSchema>;
