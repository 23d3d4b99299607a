/** `job`: looks after processes that `exec` left in the background (box §13, §14). */
import { z } from "zod";
import { ServiceError } from "../../domain/errors.js";
import type { JobInfo } from "../../domain/job.js";
import type { JobOutput } from "../../ports/box-jobs.js";
import type { CallOptions } from "../../ports/options.js";
import type { NativeTool, ToolBox, ToolEvent } from "../../ports/tool.js";
import { defineTool, failure, success } from "../define-tool.js";
import { optionalNumber, optionalText } from "../tool-input.js";
import { ExecOutput } from "./exec-output.js";

const ACTIONS = ["list", "poll", "wait", "input", "stop"] as const;
/** What one call may send. */
const MAX_DATA_BYTES = 64 * 1024;
/** Of the list; the result of a call stays bounded however many jobs there are. */
const MAX_LISTED = 50;
const LISTED_STDERR_CHARS = 200;

const inputSchema = z.object({
  action: z.enum(ACTIONS).meta({
    description:
      "list: the jobs. poll: output that is new since the last poll. wait: until the job has ended. input: send data to " +
      "its standard input. stop: TERM, and after 5 s the end of all its processes.",
  }),
  id: optionalText("The job; needed by all actions but list."),
  wait_sec: optionalNumber(
    "Seconds that poll waits for new output (default 0) and wait for the end (default 30).",
  ),
  data: optionalText(
    "Text for input, sent as it is: end a line with a line end. Without data the input is closed.",
  ),
});
type JobInput = z.output<typeof inputSchema>;

export interface JobToolOptions {
  /** Characters of each stream that the model sees (`exec.output_chars`). */
  readonly outputChars: number;
}

export function createJobTool({ outputChars }: JobToolOptions): NativeTool {
  return defineTool({
    name: "job",
    description:
      "Look after the jobs that exec started with background: true. They go on when the run ends, until they end, are " +
      "stopped, or the box is stopped.",
    input: inputSchema,
    effect: { kind: "box.exec" },
    async *run(call, box, options) {
      yield await answer(call.input, { box, outputChars }, options);
    },
  });
}

interface JobScope extends JobToolOptions {
  readonly box: ToolBox;
}

async function answer(input: JobInput, scope: JobScope, options: CallOptions): Promise<ToolEvent> {
  const { action, id } = input;
  if (action === "list")
    return success({ ok: true, jobs: scope.box.jobs.list().slice(0, MAX_LISTED).map(shorten) });
  if (id === undefined) return failure(`Invalid input for job: id: ${action} needs the id of a job.`);
  try {
    return await act({ ...input, id }, scope, options);
  } catch (error) {
    options.signal.throwIfAborted();
    return readRefusal(error);
  }
}

async function act(
  { action, id, ...input }: JobInput & { readonly id: string },
  { box, outputChars }: JobScope,
  options: CallOptions,
): Promise<ToolEvent> {
  const { jobs } = box;
  switch (action) {
    case "poll": {
      const waitMs = waitOf(input.wait_sec ?? 0, box);
      const { job, output } = await jobs.take(id, waitMs, options);
      return success(describePoll(job, output, outputChars));
    }
    case "wait":
      return success({ ok: true, ...(await jobs.wait(id, waitOf(input.wait_sec ?? 30, box), options)) });
    case "stop":
      return success({ ok: true, ...(await jobs.stop(id, options)) });
    default:
      return send({ id, data: input.data }, box, options);
  }
}

async function send(
  { id, data }: { readonly id: string; readonly data: string | undefined },
  { jobs }: ToolBox,
  options: CallOptions,
): Promise<ToolEvent> {
  const bytes = data === undefined || data === "" ? null : Buffer.from(data);
  if (bytes !== null && bytes.length > MAX_DATA_BYTES)
    return failure(
      `Invalid input for job: data: ${bytes.length} bytes, at most ${MAX_DATA_BYTES} are possible. Send it in pieces.`,
    );
  return success({ ok: true, ...(await jobs.input(id, bytes, options)) });
}

/** Milliseconds; never more than a command of the box may take. */
function waitOf(seconds: number, { settings }: ToolBox): number {
  return Math.round(Math.min(Math.max(seconds, 0), settings.execMaxTimeoutSec) * 1000);
}

function describePoll(
  job: JobInfo,
  { parts, droppedBytes }: JobOutput,
  outputChars: number,
): Record<string, unknown> {
  const output = new ExecOutput(outputChars);
  for (const { stream, bytes } of parts) output.push(stream, bytes);
  output.end();
  const { notes, ...fields } = output.finish(null);
  const lost = droppedBytes > 0 ? [`${droppedBytes} bytes of older output are not kept any more.`] : [];
  return { ok: true, ...job, ...fields, notes: [...job.notes, ...lost, ...notes] };
}

function shorten(job: JobInfo): JobInfo {
  return { ...job, stderr_preview: job.stderr_preview.slice(0, LISTED_STDERR_CHARS) };
}

/** @throws what is no refusal of this call */
export function readRefusal(error: unknown): ToolEvent {
  if (!(error instanceof ServiceError)) throw error;
  switch (error.code) {
    case "box.process_not_found":
    case "box.process_conflict":
    case "box.capacity":
    case "box.forbidden":
    case "box.validation":
      return failure(error.hint === undefined ? error.message : `${error.message} ${error.hint}`);
    default:
      throw error;
  }
}
