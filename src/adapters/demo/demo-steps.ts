/** What the demo model does next: run the blocks or look at the files, then deliver the outbox, then answer. Pure. */
import { z } from "zod";
import { type CodeBlock, findCodeBlocks } from "./fenced-code.js";
import { type DemoTask, type DoneTurn, parseJson } from "./read-request.js";

export interface DemoCall {
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
}

/** The calls of one reply, and what they are, for the answer. */
export interface DemoStep {
  readonly kind: "code" | "inspect" | "list" | "export";
  readonly title: string;
  readonly calls: readonly DemoCall[];
}

/** How a block of a language is run. The code travels as the value of a variable, never as part of shell text. */
const PROGRAMS: Readonly<Record<string, string>> = {
  bash: 'bash -c "$CODE"',
  sh: 'sh -c "$CODE"',
  python: 'python3 -c "$CODE"',
  javascript: 'node -e "$CODE"',
};
const MODULE_PROGRAM = 'node --input-type=module -e "$CODE"';
const LANGUAGES: ReadonlyMap<string, string> = new Map([
  ["bash", "bash"],
  ["sh", "sh"],
  ["shell", "sh"],
  ["python", "python"],
  ["python3", "python"],
  ["py", "python"],
  ["javascript", "javascript"],
  ["js", "javascript"],
  ["node", "javascript"],
]);

const MAX_READ = 5;
const READ_LINES = 20;
/** What one run may export (box §8.4). */
const MAX_EXPORTED = 100;

/** @returns the step that follows on those done, or null when it is time to answer */
export function nextStep(task: DemoTask, tools: ReadonlySet<string>): DemoStep | null {
  const work = planWork(task, tools);
  const done = task.turns.length;
  if (work.length === 0) return null;
  return work[done] ?? planDelivery(task, tools, done - work.length);
}

/** The steps that are already done, as they were planned. */
export function doneSteps(task: DemoTask, tools: ReadonlySet<string>): readonly (DemoStep | null)[] {
  const work = planWork(task, tools);
  return task.turns.map(
    (_, i) => work[i] ?? planDelivery({ ...task, turns: task.turns.slice(0, i) }, tools, i - work.length),
  );
}

export function runnableBlocks(task: DemoTask): readonly CodeBlock[] {
  return findCodeBlocks(task.text).filter(({ language }) => LANGUAGES.has(language));
}

/** One reply per block: a later block may need what an earlier one made. */
function planWork(task: DemoTask, tools: ReadonlySet<string>): readonly DemoStep[] {
  const blocks = runnableBlocks(task);
  if (blocks.length > 0) return tools.has("exec") ? blocks.map(planBlock) : [];
  const inspection = planInspection(task, tools);
  return inspection.calls.length > 0 ? [inspection] : [];
}

function planBlock({ language, code }: CodeBlock): DemoStep {
  const name = LANGUAGES.get(language) ?? "sh";
  const isModule = name === "javascript" && /^\s*(import|export)\s/m.test(code);
  const command = isModule ? MODULE_PROGRAM : (PROGRAMS[name] ?? "");
  const description = `Runs the ${name} block of the message.`;
  return {
    kind: "code",
    title: name,
    calls: [{ name: "exec", input: { command, env: { CODE: code }, description } }],
  };
}

function planInspection({ attachments }: DemoTask, tools: ReadonlySet<string>): DemoStep {
  const listing = {
    name: "exec",
    input: {
      command:
        'find "$BERTH_INBOX" -type f -exec ls -l {} +; ' +
        'if command -v file >/dev/null; then find "$BERTH_INBOX" -type f -exec file -b {} +; fi',
      description: "Lists the files of the message.",
    },
  };
  const reading = attachments
    .slice(0, MAX_READ)
    .map(({ path }) => ({ name: "read", input: { path, limit: READ_LINES } }));
  const calls = attachments.length === 0 ? [] : [listing, ...reading].filter(({ name }) => tools.has(name));
  return { kind: "inspect", title: "the files of the message", calls };
}

function planDelivery(task: DemoTask, tools: ReadonlySet<string>, stage: number): DemoStep | null {
  if (!tools.has("export_box_files")) return null;
  if (stage === 0) return planListing(task, tools);
  const listed = stage === 1 ? readListing(task.turns.at(-1) ?? []) : [];
  if (listed.length === 0) return null;
  const input = { paths: listed.slice(0, MAX_EXPORTED) };
  return { kind: "export", title: "delivery", calls: [{ name: "export_box_files", input }] };
}

function planListing({ outbox }: DemoTask, tools: ReadonlySet<string>): DemoStep | null {
  const title = "the outbox";
  if (outbox !== null && tools.has("glob"))
    return { kind: "list", title, calls: [{ name: "glob", input: { pattern: "**", path: outbox } }] };
  if (!tools.has("exec")) return null;
  const command = 'find "$BERTH_OUTBOX" -type f';
  return {
    kind: "list",
    title,
    calls: [{ name: "exec", input: { command, description: "Lists the outbox." } }],
  };
}

const matchesSchema = z.object({ matches: z.array(z.string()) });
const printedSchema = z.object({ stdout: z.string() });

/** Paths in the answer to a listing, sorted; an answer that was cut still gives the paths that are whole. */
export function readListing(turn: DoneTurn): readonly string[] {
  const paths = turn.flatMap(({ answer }) => {
    if (answer.startsWith("Error:")) return [];
    const matches = parseJson(answer, matchesSchema)?.matches;
    const lines = parseJson(answer, printedSchema)?.stdout.split("\n");
    return matches ?? lines ?? [...answer.matchAll(/"(\/workspace\/[^"\\]+)"/g)].map(([, path = ""]) => path);
  });
  return [...new Set(paths)].filter((path) => /^\/workspace\/outbox\/[^/]+\/./.test(path)).toSorted();
}
