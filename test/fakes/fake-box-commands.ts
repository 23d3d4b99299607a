/** A tiny set of commands for fake boxes: what the contract and most integration tests need, and no shell. */
import type { ExecExit } from "../../src/domain/box.js";
import type { ExecEvent, ExecRequest, TerminalSize } from "../../src/ports/box-handle.js";
import type { FakeInput } from "./fake-box-process.js";
import { type FakeNode, type FakeTree, partsOf } from "./fake-box-tree.js";

export interface FakeCall extends ExecRequest {
  readonly tree: FakeTree;
  /** Aborts when the command is to end. */
  readonly signal: AbortSignal;
  /** What a process is given; absent = empty, as for every command. */
  readonly input?: FakeInput | undefined;
  /** Absent or null = pipes. */
  readonly size?: (() => TerminalSize | null) | undefined;
}

/** Yields output and, last, an exit. Null = not a command of this set. */
export type FakeCommand = (call: FakeCall) => AsyncIterable<ExecEvent> | null;

/** The exit of a command that ended by itself. */
export function exited(exitCode: number, fields: Partial<ExecExit> = {}): ExecEvent {
  return {
    type: "exit",
    exit: { status: "completed", exitCode, durationMs: 1, leftovers: 0, notes: [], ...fields },
  };
}

export function printed(text: string, stream: "stdout" | "stderr" = "stdout"): ExecEvent {
  return { type: "output", stream, bytes: Buffer.from(text) };
}

/** `argv` commands, and `sh -c` or `sh -lc` with several of them, joined by `; ` or left behind with ` & `. */
export async function* runFakeCommand(call: FakeCall): AsyncIterable<ExecEvent> {
  const [program = "", flag = "", text = ""] = call.argv;
  if (program === "sh" && /^-l?c$/u.test(flag)) yield* runSteps(call, text.split(/(?<=&) |; /u));
  else yield* runProgram(call, call.argv);
}

async function* runSteps(call: FakeCall, steps: readonly string[]): AsyncIterable<ExecEvent> {
  const leftovers = steps.filter((step) => step.endsWith(" &")).length;
  let exitCode = 0;
  for await (const event of runForeground(call, steps)) {
    if (event.type === "output" || event.exit.status !== "completed") yield event;
    else exitCode = event.exit.exitCode ?? 0;
  }
  const notes = leftovers > 0 ? [`${leftovers} processes that the command started still run.`] : [];
  yield exited(exitCode, { leftovers, notes });
}

async function* runForeground(call: FakeCall, steps: readonly string[]): AsyncIterable<ExecEvent> {
  for (const step of steps.filter((text) => !text.endsWith(" &"))) {
    if (step.startsWith("exit ")) yield exited(Number(step.slice("exit ".length)));
    else yield* runProgram(call, readWords(step));
  }
}

/** Words with optional double or single quotes; `>&2` and `> path` stay words. */
function readWords(text: string): readonly string[] {
  return [...text.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/gu)].map(
    ([, double, single, plain]) => double ?? single ?? plain ?? "",
  );
}

type Program = (call: FakeCall, words: readonly string[]) => AsyncIterable<ExecEvent>;

const PROGRAMS: ReadonlyMap<string, Program> = new Map<string, Program>([
  ["true", always(exited(0))],
  ["false", always(exited(1))],
  ["cat", printInput],
  ["stty", printSize],
  ["read", readLine],
  [
    "kill",
    always(
      exited(0, {
        status: "killed",
        exitCode: null,
        notes: ["The command was ended by signal 9 (SIGKILL)."],
      }),
    ),
  ],
  ["echo", (call, words) => printWords(call, words, "\n")],
  ["printf", (call, words) => printWords(call, words, "")],
  ["sleep", sleepFor],
  ["head", printZeros],
  ["ln", ({ tree }, words) => link(tree, words)],
  [
    "mkfifo",
    ({ tree }, [path = ""]) => change(tree, path, (siblings, name) => siblings.set(name, tree.other())),
  ],
  ["mkdir", ({ tree }, words) => makeDirectory(tree, words.at(-1) ?? "")],
  ["rm", ({ tree }, words) => change(tree, words.at(-1) ?? "", (siblings, name) => siblings.delete(name))],
  [
    "chmod",
    ({ tree }, [mode = "", path = ""]) =>
      change(tree, path, (siblings, name) => setMode(siblings.get(name), mode)),
  ],
]);

async function* runProgram(call: FakeCall, argv: readonly string[]): AsyncIterable<ExecEvent> {
  const [name = "", ...words] = argv;
  const program = PROGRAMS.get(name);
  if (program !== undefined) {
    yield* program(call, words);
    return;
  }
  yield printed(`${name}: not found\n`, "stderr");
  yield exited(127);
}

function always(event: ExecEvent): Program {
  return async function* answer() {
    yield event;
  };
}

async function* printWords(call: FakeCall, words: readonly string[], end: string): AsyncIterable<ExecEvent> {
  const at = words.indexOf(">");
  const kept = (at === -1 ? words : words.slice(0, at)).filter((word) => word !== ">&2");
  const text = `${kept.map((word) => word.replace("$PWD", call.workdir)).join(" ")}${end}`;
  if (at === -1) yield printed(text, words.includes(">&2") ? "stderr" : "stdout");
  else call.tree.put(words[at + 1] ?? "", text);
  yield exited(0);
}

async function* sleepFor({ signal }: FakeCall, [seconds = "0"]: readonly string[]): AsyncIterable<ExecEvent> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, Number(seconds) * 1000);
    const wake = (): void => {
      clearTimeout(timer);
      resolve();
    };
    signal.addEventListener("abort", wake, { once: true });
  });
  yield exited(0);
}

/** What is given, until its end; without any it ends at once. */
async function* printInput({ input }: FakeCall): AsyncIterable<ExecEvent> {
  for (let bytes = await input?.next(); bytes instanceof Uint8Array; bytes = await input?.next())
    yield { type: "output", stream: "stdout", bytes };
  yield exited(0);
}

/** `stty size`. */
async function* printSize({ size }: FakeCall): AsyncIterable<ExecEvent> {
  const terminal = size?.() ?? null;
  if (terminal !== null) yield printed(`${terminal.rows} ${terminal.columns}\r\n`);
  yield exited(terminal === null ? 1 : 0);
}

async function* readLine({ input }: FakeCall): AsyncIterable<ExecEvent> {
  const line = await input?.next();
  yield exited(line instanceof Uint8Array ? 0 : 1);
}

/** `head -c N /dev/zero`. */
async function* printZeros(
  _call: FakeCall,
  [, sizeBytes = "0"]: readonly string[],
): AsyncIterable<ExecEvent> {
  const piece = new Uint8Array(64 * 1024);
  for (let left = Number(sizeBytes); left > 0; left -= piece.length)
    yield { type: "output", stream: "stdout", bytes: piece.subarray(0, left) };
  yield exited(0);
}

/** `ln -s TARGET PATH` and `ln FILE PATH`. */
function link(tree: FakeTree, words: readonly string[]): AsyncIterable<ExecEvent> {
  const [original = "", path = ""] = words.slice(-2);
  return change(tree, path, (siblings, name) => {
    const file = tree.find(partsOf(original));
    if (words[0] === "-s") siblings.set(name, tree.link(original));
    else if (file.ok && file.value.kind === "file") {
      file.value.links += 1;
      siblings.set(name, file.value);
    }
  });
}

async function* change(
  tree: FakeTree,
  path: string,
  act: (siblings: Map<string, FakeNode>, name: string) => unknown,
): AsyncIterable<ExecEvent> {
  const parts = partsOf(path);
  const parent = tree.walk(parts.slice(0, -1));
  if (parent.ok) act(parent.value.children, parts.at(-1) ?? "");
  yield exited(parent.ok ? 0 : 1);
}

async function* makeDirectory(tree: FakeTree, path: string): AsyncIterable<ExecEvent> {
  yield exited(tree.walk(partsOf(path), "make").ok ? 0 : 1);
}

function setMode(node: FakeNode | undefined, mode: string): void {
  if (node?.kind === "file" || node?.kind === "directory") node.mode = Number.parseInt(mode, 8);
}
