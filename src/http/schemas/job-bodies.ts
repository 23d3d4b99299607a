/** Bodies and queries of the routes of jobs and terminals (api §4, box §14). */
import { z } from "zod";
import { sessionIdSchema } from "../../domain/ids.js";
import { jobIdSchema, jobInfoSchema } from "../../domain/job.js";

const MAX_INPUT_CHARS = 1024 * 1024;
const MAX_WAIT_SEC = 60;
const MAX_TERMINAL_SIDE = 1000;

export const startJobSchema = z
  .strictObject({
    id: jobIdSchema.default("default").meta({ description: "A running job of the same id is replaced." }),
    command: z.string().min(1).meta({ description: "Run with sh -lc as the box user." }),
    workdir: z.string().min(1).optional().meta({ description: "Created if missing. Default: /workspace." }),
    env: z.record(z.string(), z.string()).optional(),
  })
  .meta({ id: "StartJob" });

export const jobSchema = z
  .object({ object: z.literal("job"), session_id: sessionIdSchema, ...jobInfoSchema.shape })
  .meta({ id: "Job" });

export const jobListSchema = z
  .object({ object: z.literal("list"), data: z.array(jobSchema) })
  .meta({ id: "JobList" });

export const jobInputSchema = z
  .strictObject({
    data: z.string().max(MAX_INPUT_CHARS).default(""),
    encoding: z.enum(["text", "base64"]).default("text"),
    end: z.boolean().default(false).meta({ description: "Close the input after the data." }),
  })
  .refine(({ data, encoding }) => encoding === "text" || z.base64().safeParse(data).success, {
    path: ["data"],
    message: "Expected base64",
  })
  .meta({ id: "JobInput" });

export const jobOutputQuery = z.strictObject({
  after: z.coerce.number().int().min(0).default(0).meta({ description: "`next` of the answer before." }),
  wait_sec: z.coerce
    .number()
    .min(0)
    .max(MAX_WAIT_SEC)
    .default(0)
    .meta({ description: "How long to wait for output; not with `stream`." }),
  stream: z
    .enum(["true", "false"])
    .default("false")
    .meta({ description: "Follow the output as events until the job ends; one client at a time." }),
});

const outputPiece = z.object({ stream: z.enum(["stdout", "stderr"]), text: z.string() });
const outputShape = {
  output: z.array(outputPiece).meta({ description: "In order of arrival; what is no UTF-8 is replaced." }),
  next: z.int().meta({ description: "Offset of the next poll, over both streams." }),
  dropped_bytes: z.int().meta({ description: "Bytes behind `after` that are not kept any more." }),
};

export const jobOutputSchema = z
  .object({ object: z.literal("job.output"), job: jobSchema, ...outputShape })
  .meta({ id: "JobOutput" });

export const jobOutputEventSchema = z
  .discriminatedUnion("type", [
    z.object({ type: z.literal("job.output"), data: z.object(outputShape), job_id: z.string() }),
    z.object({ type: z.literal("job.ended"), data: jobSchema, job_id: z.string() }),
    z.object({
      type: z.literal("error"),
      data: z.record(z.string(), z.unknown()).meta({ description: "The error envelope." }),
      job_id: z.string(),
    }),
  ])
  .meta({ id: "JobOutputEvent" });

const side = z.coerce.number().int().min(1).max(MAX_TERMINAL_SIDE);

export const terminalQuery = z.strictObject({
  terminal: z
    .string()
    .max(100)
    .optional()
    .meta({ description: "An open terminal to connect to again; absent = a new one." }),
  rows: side.default(24),
  columns: side.default(80),
});

/** A text frame of the client. */
export const terminalMessageSchema = z.strictObject({
  type: z.literal("resize"),
  rows: z.int().min(1).max(MAX_TERMINAL_SIDE),
  columns: z.int().min(1).max(MAX_TERMINAL_SIDE),
});
