/** The last text of the demo model: what was run, what came out, and that nobody thought about it. Pure. */
import { z } from "zod";
import { prefixWithin } from "../../lib/code-points.js";
import { type DemoStep, doneSteps, runnableBlocks } from "./demo-steps.js";
import { type DemoTask, type DoneCall, type DoneTurn, parseJson } from "./read-request.js";

const MAX_SHOWN_CHARS = 1500;
const INTRODUCTION =
  "This is the offline demo model. It follows fixed rules and no reasoning took place: it runs the code blocks of a " +
  "message (bash, sh, python, js), looks at attached files, and delivers what lies in the outbox.";

export function demoAnswer(task: DemoTask, tools: ReadonlySet<string>): string {
  const sections = describeTurns(task, tools);
  const notice = describeMissing(task, tools);
  const parts = [INTRODUCTION, ...(notice === null ? [] : [notice]), ...sections];
  return parts.join("\n\n");
}

/** Why nothing was done, where that needs to be said. */
function describeMissing(task: DemoTask, tools: ReadonlySet<string>): string | null {
  if (task.turns.length > 0) return null;
  const asksForWork = runnableBlocks(task).length > 0 || task.attachments.length > 0;
  if (tools.size === 0) return "No tools were offered to it here, so it cannot run anything.";
  if (asksForWork) return "The tools that this message needs were not offered to it, so nothing was run.";
  return "This message has neither a code block to run nor a file to look at, so nothing was run.";
}

function describeTurns(task: DemoTask, tools: ReadonlySet<string>): readonly string[] {
  // Without tools, in the last reply of a run, the steps are those of a request with all of them.
  const planned = tools.size > 0 ? tools : new Set(["exec", "read", "glob", "export_box_files"]);
  const steps = doneSteps(task, planned);
  const code = task.turns.flatMap((turn, i) => describeStep(steps[i] ?? null, turn, i + 1));
  const delivered = steps.some((step) => step?.kind === "export");
  const isListed = steps.some((step) => step?.kind === "list");
  return isListed && !delivered ? [...code, "The outbox holds no files, so nothing was delivered."] : code;
}

function describeStep(step: DemoStep | null, turn: DoneTurn, place: number): readonly string[] {
  switch (step?.kind) {
    case "code":
      return turn.map((call) => `**${place}. ${step.title}**${describeExec(call)}`);
    case "inspect":
      return turn.map((call) =>
        call.name === "exec" ? `**Files of the message**${describeExec(call)}` : describeRead(call),
      );
    case "export":
      return turn.map(describeExport);
    default:
      return [];
  }
}

const execSchema = z.object({
  status: z.string(),
  exit_code: z.number().nullable(),
  duration_ms: z.number(),
  preview: z.string(),
  notes: z.array(z.string()).default([]),
});

function describeExec({ answer }: DoneCall): string {
  const result = parseJson(answer, execSchema);
  if (result === null) return quote(answer);
  const end = result.exit_code === null ? result.status.replace("_", " ") : `exit code ${result.exit_code}`;
  const notes = result.notes.map((note) => `\n- ${note}`).join("");
  return ` (${end}, ${result.duration_ms} ms)${quote(result.preview)}${notes === "" ? "" : `\n${notes}`}`;
}

const readSchema = z.object({ path: z.string(), content: z.string(), total_lines: z.number().nullable() });

function describeRead({ answer }: DoneCall): string {
  const result = parseJson(answer, readSchema);
  if (result === null) return `**A file of the message**${quote(answer)}`;
  const lines = result.total_lines === null ? "" : ` (${result.total_lines} lines)`;
  return `**${result.path}**${lines}${quote(result.content)}`;
}

const exportSchema = z.object({ files: z.array(z.object({ name: z.string(), size: z.number() })) });
/** The form that a result with references to files takes on its way to a model (local-agent §9.4). */
const wrappedSchema = z.object({ type: z.literal("tool_result_references"), result: exportSchema });

function describeExport({ answer }: DoneCall): string {
  const result = parseJson(answer, wrappedSchema)?.result ?? parseJson(answer, exportSchema);
  if (result === null) return `**Delivery**${quote(answer)}`;
  const names = result.files.map(({ name, size }) => `${name} (${size} bytes)`);
  return `**Delivered:** ${names.join(", ")}`;
}

/** The text as a block; its fence is longer than any run of backticks in it. */
function quote(text: string): string {
  if (text.trim() === "") return "\n\n(no output)";
  const shown = prefixWithin(text, { chars: MAX_SHOWN_CHARS, bytes: Number.POSITIVE_INFINITY });
  const runs = shown.match(/`+/g) ?? [];
  const fence = "`".repeat(Math.max(3, ...runs.map((run) => run.length + 1)));
  const rest = shown.length < text.length ? "\n[...]" : "";
  return `\n\n${fence}\n${shown.replace(/\n+$/, "")}${rest}\n${fence}`;
}
