/** `exec`: runs a shell command in the box (box §12). */
import { z } from "zod";
import type { ExecExit } from "../../domain/box.js";
import { ServiceError } from "../../domain/errors.js";
import { SecretMask } from "../../lib/secret-mask.js";
import type { ExecEvent, ExecRequest } from "../../ports/box-handle.js";
import type { CallOptions } from "../../ports/options.js";
import type { NativeTool, ToolBox, ToolEvent } from "../../ports/tool.js";
import { pathOrRoot, resolveToolPath } from "../box-path.js";
import { defineTool, failure, type ParsedCall, success } from "../define-tool.js";
import { optionalFlag, optionalNumber, optionalText, text } from "../tool-input.js";
import { type SavedResult, ToolResultFile } from "../tool-results.js";
import { findCommandFault, findEnvFault, resolveTimeout, type TimeoutChoice } from "./exec-input.js";
import { ExecOutput } from "./exec-output.js";
import { execResult } from "./exec-result.js";
import { readRefusal } from "./job.js";
import { LiveOutput } from "./live-output.js";

const inputSchema = z.object({
  command: text("Shell command, run with sh -lc as the box user. Standard input is empty."),
  workdir: optionalText("Directory to run in, created if missing. Default: /workspace."),
  timeout_sec: optionalNumber("Seconds after which the command and all it started are stopped. Default: 30."),
  env: z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean()]).transform(String))
    .nullish()
    .meta({ type: "object", description: "Extra environment variables: names to texts." }),
  background: optionalFlag(
    "Start a job that goes on when this call and the run end; its id is returned at once, for the tool job.",
  ),
  description: optionalText("A few words for people on what the command is for."),
});
const NO_SECRETS = new SecretMask([]);

type ExecInput = z.output<typeof inputSchema>;

export interface ExecToolOptions {
  /** Characters of each stream that the model sees (`exec.output_chars`). */
  readonly outputChars: number;
  /** Takes secrets out of the output before any of it is cut, shown or kept (box §10.7). */
  readonly mask?: SecretMask | undefined;
}

export function createExecTool(toolOptions: ExecToolOptions): NativeTool {
  return defineTool({
    name: "exec",
    description:
      "Run a shell command in the box. Returns exit code, stdout and stderr; long output is cut in the middle and kept " +
      "whole in a file that the result names. $BERTH_INBOX and $BERTH_OUTBOX are the directories of this run. " +
      "What the command leaves running is stopped when the run ends; a job (background) is the way to keep a process.",
    input: inputSchema,
    effect: { kind: "box.exec" },
    async *run(call, box, options) {
      const planned = planExec(call.input, box);
      if (!planned.ok) yield failure(planned.error);
      else if (call.input.background === true) yield await startJob(call.input, { planned, box }, options);
      else yield* runCommand({ ...planned, callId: call.id, ...toolOptions }, box, options);
    },
  });
}

interface ExecPlan {
  readonly request: ExecRequest;
  readonly timeout: TimeoutChoice;
}

type PlannedExec = ({ readonly ok: true } & ExecPlan) | { readonly ok: false; readonly error: string };

function planExec(input: ParsedCall<ExecInput>["input"], box: ToolBox): PlannedExec {
  const env = input.env ?? {};
  const fault = findCommandFault(input.command) ?? findEnvFault(env);
  if (fault !== null) return { ok: false, error: fault };
  const workdir = resolveToolPath(pathOrRoot(input.workdir));
  if (!workdir.ok) return workdir;
  const timeout = resolveTimeout(input.timeout_sec, box.settings);
  return {
    ok: true,
    timeout,
    request: {
      argv: ["sh", "-lc", input.command],
      workdir: workdir.path,
      env: { ...env, BERTH_INBOX: box.inbox, BERTH_OUTBOX: box.outbox },
      timeoutMs: Math.max(1, Math.round(timeout.seconds * 1000)),
    },
  };
}

/** A job has no time limit and gets its own id. */
async function startJob(
  { command, timeout_sec: timeoutSec }: ExecInput,
  { planned, box }: { readonly planned: ExecPlan; readonly box: ToolBox },
  options: CallOptions,
): Promise<ToolEvent> {
  const { workdir, env } = planned.request;
  try {
    const job = await box.jobs.start({ command, workdir, env }, options);
    const unused = timeoutSec === undefined ? [] : ["timeout_sec does not apply to a job."];
    return success({ ok: true, ...job, job_id: job.id, notes: [...job.notes, ...unused] });
  } catch (error) {
    options.signal.throwIfAborted();
    return readRefusal(error);
  }
}

async function* runCommand(
  plan: ExecPlan & ExecToolOptions & { readonly callId: string },
  box: ToolBox,
  options: CallOptions,
): AsyncGenerator<ToolEvent> {
  const output = new ExecOutput(plan.outputChars);
  const file = box.settings.workspaceMode === "rw" ? new ToolResultFile(box.handle.files, plan.callId) : null;
  const live = new LiveOutput();
  let exit: ExecExit | null = null;
  for await (const event of maskOutput(box.handle.exec(plan.request, options), plan.mask ?? NO_SECRETS)) {
    if (event.type === "exit") {
      exit = event.exit;
      continue;
    }
    output.push(event.stream, event.bytes);
    file?.add(event.bytes);
    yield* live.push(event.stream, event.bytes);
    if (file?.isDue === true) await file.write(options);
  }
  if (exit === null) throw new ServiceError("internal", "The box ended a command without saying how.");
  yield* live.end();
  output.end();
  const saved = output.isCut ? await saveOutput(file, options) : null;
  const facts = { sessionId: box.sessionId, exit, timeout: plan.timeout, output: output.finish(saved) };
  yield success(execResult({ ...facts, quotaMib: box.settings.workspaceQuotaMb }));
}

/** A cut of the output may go through a secret, and then nobody would know it again: so it is masked before. */
async function* maskOutput(events: AsyncIterable<ExecEvent>, mask: SecretMask): AsyncGenerator<ExecEvent> {
  const streams = { stdout: mask.byteStream(), stderr: mask.byteStream() };
  for await (const event of events) {
    if (event.type === "exit") {
      for (const stream of ["stdout", "stderr"] as const)
        yield { type: "output", stream, bytes: streams[stream].end() };
      yield event;
    } else yield { ...event, bytes: streams[event.stream].push(event.bytes) };
  }
}

async function saveOutput(file: ToolResultFile | null, options: CallOptions): Promise<SavedResult> {
  return file === null ? { ok: false, reason: "The workspace is read-only." } : file.finish(options);
}
