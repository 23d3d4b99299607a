/** An in-memory box for tools: a tree of files, scripted commands, faults on demand. No links, no permissions. */

import { z } from "zod";
import { resolveBoxSettings } from "../../../src/box/box-policy.js";
import type { ExecExit, FileEntry, FileFault, StatAnswer } from "../../../src/domain/box.js";
import { ServiceError } from "../../../src/domain/errors.js";
import type { ToolOutcome } from "../../../src/domain/tool.js";
import type {
  BoxFiles,
  BoxHandle,
  ExecEvent,
  ExecRequest,
  FileStreamEvent,
  ListAnswer,
  ListRequest,
  ReadRequest,
  RemoveAnswer,
  WriteAnswer,
  WriteRequest,
} from "../../../src/ports/box-handle.js";
import type { CallOptions } from "../../../src/ports/options.js";
import type { ExportAnswer, NativeTool, ToolBox, ToolEvent } from "../../../src/ports/tool.js";
import { FakeJobs } from "../../fakes/fake-jobs.js";

export const SETTINGS = resolveBoxSettings("default", { image: "berth-box:slim" });

interface FakeFile {
  readonly bytes: Uint8Array;
  readonly mode: number;
  readonly modifiedMs: number;
  readonly version: string;
}

/** Answers one command; the last event must be the exit. */
export type FakeCommand = (request: ExecRequest, options: CallOptions) => AsyncIterable<ExecEvent>;

export class FakeToolBox implements ToolBox, BoxFiles {
  readonly runId = "run_1";
  readonly sessionId = "ses_1";
  readonly inbox = "/workspace/inbox/run_1";
  readonly outbox = "/workspace/outbox/run_1";
  readonly attachments = [];
  readonly jobs = new FakeJobs();
  settings = SETTINGS;
  readonly tree = new Map<string, FakeFile>();
  readonly faults = new Map<string, FileFault>();
  /** Paths that are symbolic links. */
  readonly links = new Set<string>();
  /** Every request to the box, by kind. */
  readonly requests: string[] = [];
  readonly commands: ExecRequest[] = [];
  command: FakeCommand = () => printed("");
  exportAnswer: ExportAnswer = { ok: true, files: [], warnings: [] };
  /** Runs before an overwrite lands, as something else in the box would. */
  beforeWrite: () => void = () => undefined;
  isLost = false;
  /** Bytes of one piece when a file is read. */
  pieceBytes = 64 * 1024;
  #clock = 1000;

  readonly files: BoxFiles = this;
  readonly handle: BoxHandle = {
    files: this,
    exec: (request, options) => this.#exec(request, options),
    spawn: () => Promise.reject(new Error("Tools start processes as jobs only.")),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };

  put(path: string, content: string | Uint8Array, modifiedMs = (this.#clock += 1)): void {
    const bytes = typeof content === "string" ? Buffer.from(content) : content;
    this.tree.set(path, { bytes, mode: 0o644, modifiedMs, version: `v${(this.#clock += 1)}` });
  }

  text(path: string): string | null {
    const file = this.tree.get(path);
    return file === undefined ? null : Buffer.from(file.bytes).toString("utf8");
  }

  exportFiles(paths: unknown): Promise<ExportAnswer> {
    this.requests.push(`export ${JSON.stringify(paths)}`);
    return Promise.resolve(this.exportAnswer);
  }

  stat(paths: readonly string[], options: CallOptions): Promise<readonly StatAnswer[]> {
    return this.#answer("stat", options, () =>
      paths.map((path) => {
        const fault = this.faults.get(path);
        const entry = this.#entry(path);
        if (fault === "escapes" || fault === "symlink_component" || fault === "unreadable")
          return { path, fault };
        return entry === null ? { path, fault: "not_found" as const } : { path, entry };
      }),
    );
  }

  async *read(requests: readonly ReadRequest[], options: CallOptions): AsyncGenerator<FileStreamEvent> {
    await this.#answer(`read ${requests.length}`, options, () => undefined);
    for (const [index, request] of requests.entries()) yield* this.#readOne(index, request);
  }

  async write(requests: readonly WriteRequest[], options: CallOptions): Promise<readonly WriteAnswer[]> {
    await this.#answer(`write ${requests.map(({ mode }) => mode).join()}`, options, () => undefined);
    const answers: WriteAnswer[] = [];
    for (const request of requests) answers.push(await this.#writeOne(request));
    return answers;
  }

  list(request: ListRequest, options: CallOptions): Promise<ListAnswer> {
    return this.#answer("list", options, () => {
      const fault = this.faults.get(request.path);
      if (fault !== undefined) return { ok: false, fault };
      if (this.tree.has(request.path) || this.links.has(request.path))
        return { ok: false, fault: "not_directory" as const };
      if (!this.#isDirectory(request.path)) return { ok: false, fault: "not_found" as const };
      const entries = this.#below(request);
      return {
        ok: true,
        entries: entries.slice(0, request.maxEntries),
        truncated: entries.length > request.maxEntries,
      };
    });
  }

  remove(
    targets: readonly { readonly path: string }[],
    options: CallOptions,
  ): Promise<readonly RemoveAnswer[]> {
    return this.#answer("remove", options, () =>
      targets.map(({ path }) => ({ path, ok: this.tree.delete(path) })),
    );
  }

  resetDirectories(_paths: readonly string[], options: CallOptions): Promise<void> {
    return this.#answer("reset", options, () => undefined);
  }

  #exec(request: ExecRequest, options: CallOptions): AsyncIterable<ExecEvent> {
    this.commands.push(request);
    return this.command(request, options);
  }

  async #answer<Value>(name: string, options: CallOptions, value: () => Value): Promise<Value> {
    this.requests.push(name);
    await Promise.resolve();
    options.signal.throwIfAborted();
    if (this.isLost) throw new ServiceError("box.engine_unavailable", "The engine does not answer.");
    return value();
  }

  *#readOne(index: number, request: ReadRequest): Generator<FileStreamEvent> {
    const fault = this.faults.get(request.path);
    const file = this.tree.get(request.path);
    const entry = this.#entry(request.path);
    if (entry === null || (fault !== undefined && fault !== "changed")) {
      yield { type: "fault", index, fault: fault ?? "not_found" };
      return;
    }
    if (file === undefined || entry.kind === "link") {
      yield { type: "fault", index, fault: "not_regular" };
      return;
    }
    yield { type: "entry", index, entry };
    const bytes = file.bytes.subarray(request.offset, request.offset + request.length);
    for (let start = 0; start < bytes.length; start += this.pieceBytes)
      yield { type: "bytes", index, bytes: bytes.subarray(start, start + this.pieceBytes) };
    yield fault === undefined ? { type: "end", index } : { type: "fault", index, fault };
  }

  async #writeOne(request: WriteRequest): Promise<WriteAnswer> {
    const pieces: Uint8Array[] = [];
    for await (const piece of request.content) pieces.push(piece);
    this.beforeWrite();
    const content = Buffer.concat(pieces);
    if (content.length !== request.sizeBytes) throw new Error("The content has another size than announced.");
    const old = this.tree.get(request.path);
    const fault = this.faults.get(request.path) ?? writeFault(request, old?.version);
    if (fault !== null) return { ok: false, fault };
    this.put(
      request.path,
      request.mode === "append" ? Buffer.concat([old?.bytes ?? new Uint8Array(), content]) : content,
    );
    const entry = this.#entry(request.path);
    if (entry === null) throw new Error("A written file is there.");
    return { ok: true, entry };
  }

  #below(request: ListRequest): readonly FileEntry[] {
    const found = new Set<string>();
    for (const path of this.tree.keys()) {
      if (!path.startsWith(`${request.path}/`)) continue;
      const parts = path.slice(request.path.length + 1).split("/");
      const skipped = parts.slice(0, -1).findIndex((part) => request.skip.includes(part));
      const depth = Math.min(skipped === -1 ? parts.length : skipped, request.depth);
      for (let i = 1; i <= depth; i += 1) found.add(`${request.path}/${parts.slice(0, i).join("/")}`);
    }
    return [...found].flatMap((path) => this.#entry(path) ?? []);
  }

  #isDirectory(path: string): boolean {
    return path === "/workspace" || [...this.tree.keys()].some((other) => other.startsWith(`${path}/`));
  }

  #entry(path: string): FileEntry | null {
    const file = this.tree.get(path);
    if (this.links.has(path))
      return {
        path,
        kind: "link",
        sizeBytes: 1,
        linkCount: 1,
        mode: 0o777,
        modifiedMs: 0,
        version: path,
        readable: true,
      };
    const shared = { path, linkCount: 1, readable: true };
    if (file !== undefined)
      return {
        ...shared,
        kind: "file",
        sizeBytes: file.bytes.length,
        mode: file.mode,
        modifiedMs: file.modifiedMs,
        version: file.version,
      };
    if (!this.#isDirectory(path)) return null;
    return { ...shared, kind: "directory", sizeBytes: 4096, mode: 0o755, modifiedMs: 0, version: path };
  }
}

function writeFault(request: WriteRequest, version: string | undefined): FileFault | null {
  if (request.mode === "create" && version !== undefined) return "exists";
  return request.version !== undefined && request.version !== version ? "changed" : null;
}

const COMPLETED: ExecExit = { status: "completed", exitCode: 0, durationMs: 12, leftovers: 0, notes: [] };

/** A command that prints and ends. */
export async function* printed(
  stdout: string | readonly Uint8Array[],
  rest: { readonly stderr?: string; readonly exit?: Partial<ExecExit> } = {},
): AsyncGenerator<ExecEvent> {
  await Promise.resolve();
  const pieces = typeof stdout === "string" ? [Buffer.from(stdout)] : stdout;
  for (const bytes of pieces) if (bytes.length > 0) yield { type: "output", stream: "stdout", bytes };
  if (rest.stderr !== undefined) yield { type: "output", stream: "stderr", bytes: Buffer.from(rest.stderr) };
  yield { type: "exit", exit: { ...COMPLETED, ...rest.exit } };
}

export interface ToolRun {
  readonly outcome: ToolOutcome;
  readonly live: readonly Extract<ToolEvent, { type: "output" }>[];
}

/** Runs a call to its end. */
export async function runTool(
  tool: NativeTool,
  { box, input }: { readonly box: ToolBox; readonly input: Readonly<Record<string, unknown>> },
  signal = new AbortController().signal,
): Promise<ToolRun> {
  const live: Extract<ToolEvent, { type: "output" }>[] = [];
  for await (const event of tool.run({ id: "call_1", input }, box, { signal })) {
    if (event.type === "outcome") return { outcome: event.outcome, live };
    live.push(event);
  }
  throw new Error("The tool ended without an outcome.");
}

/** The result of a call that must work. */
export async function resultOf(
  tool: NativeTool,
  box: ToolBox,
  input: Readonly<Record<string, unknown>>,
): Promise<Readonly<Record<string, unknown>>> {
  const { outcome } = await runTool(tool, { box, input });
  if (!outcome.ok) throw new Error(`The tool failed: ${outcome.error}`);
  return z.record(z.string(), z.unknown()).parse(outcome.result);
}

/** The error of a call that must fail. */
export async function errorOf(
  tool: NativeTool,
  box: ToolBox,
  input: Readonly<Record<string, unknown>>,
): Promise<string> {
  const { outcome } = await runTool(tool, { box, input });
  if (outcome.ok) throw new Error(`The tool worked: ${JSON.stringify(outcome.result)}`);
  return outcome.error;
}
