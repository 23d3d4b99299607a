/**
 * What may be done inside a box, as the box user: commands and files. It cannot stop or remove the box; that is the
 * owner's (box-backend). One handle belongs to one lease: when it is disposed, commands it started and what they left
 * running are stopped (box §12.2, §12.3).
 *
 * All file work happens inside the box, from `/workspace` downwards, without following links (box §6). Paths are
 * absolute. Answers come from untrusted ground: the host counts bytes itself and believes no path in an answer.
 * Contract: test/contracts/box-backend.ts.
 */
import type { ExecExit, FileEntry, FileFault, StatAnswer } from "../domain/box.js";
import type { CallOptions } from "./options.js";

export interface ExecRequest {
  /** Program and arguments; never spliced into shell text by us. */
  readonly argv: readonly string[];
  /** Absolute path below /workspace, created if missing. */
  readonly workdir: string;
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

/** stdout and stderr apart and byte-exact, in order of arrival; exactly one `exit`, last. */
export type ExecEvent =
  | { readonly type: "output"; readonly stream: "stdout" | "stderr"; readonly bytes: Uint8Array }
  | { readonly type: "exit"; readonly exit: ExecExit };

export interface TerminalSize {
  readonly rows: number;
  readonly columns: number;
}

export interface SpawnRequest extends Pick<ExecRequest, "argv" | "workdir" | "env"> {
  /** Null = pipes. Else the process has a terminal of this size, and all it says there is stdout. */
  readonly terminal: TerminalSize | null;
}

/**
 * A process without a time limit, streamed in both directions. Disposing of it ends its whole tree, what it left behind
 * too, and waits until nothing is left. After its end `write` and `endInput` throw `box.process_not_found`, and the other
 * calls do nothing.
 */
export interface BoxProcess extends AsyncDisposable {
  /** Output with back-pressure, then the exit; to be read once. Where the box itself ended, the exit has a note on that. */
  readonly events: AsyncIterable<ExecEvent>;
  /** One write at a time; resolves when all is on its way, which waits for a process that reads slowly. */
  write(bytes: Uint8Array, options: CallOptions): Promise<void>;
  /** The end of standard input; on a terminal the end-of-file character. */
  endInput(options: CallOptions): Promise<void>;
  /** Of a process with a terminal. */
  resize(size: TerminalSize): void;
  /** Sends TERM to every process of the tree, which may or may not end by it. */
  terminate(): void;
  /** Ends the whole tree. */
  kill(): void;
}

export interface ReadRequest {
  readonly path: string;
  readonly offset: number;
  /** At most so many bytes; Infinity = to the end. */
  readonly length: number;
  /** If given and the file is another one or has other content: `changed`. */
  readonly version?: string | undefined;
}

export type FileStreamEvent =
  | { readonly type: "entry"; readonly index: number; readonly entry: FileEntry }
  | { readonly type: "bytes"; readonly index: number; readonly bytes: Uint8Array }
  /** The same file, unchanged since `entry`, and all bytes asked for were given. */
  | { readonly type: "end"; readonly index: number }
  | { readonly type: "fault"; readonly index: number; readonly fault: FileFault };

export interface WriteRequest {
  readonly path: string;
  /** `create` fails with `exists`; `overwrite` goes through a temporary file and a rename and keeps the mode. */
  readonly mode: "create" | "overwrite" | "append";
  /** Exact length of `content` in bytes; a shorter or longer stream leaves nothing behind. Pieces stay as they were given. */
  readonly sizeBytes: number;
  readonly content: AsyncIterable<Uint8Array>;
  /** `overwrite` only: write nothing and answer `changed` unless the file still has this version. */
  readonly version?: string | undefined;
  /** Permission bits of a new file; 0644 if not given. */
  readonly fileMode?: number | undefined;
}

export type WriteAnswer =
  | { readonly ok: true; readonly entry: FileEntry }
  | {
      readonly ok: false;
      readonly fault: FileFault;
      /** Only with `no_space`: limit, use and what to do, in sentences. */
      readonly space?: string | undefined;
    };

export interface ListRequest {
  readonly path: string;
  /** 1 = the directory's own entries. */
  readonly depth: number;
  /** The walk stops after so many entries. */
  readonly maxEntries: number;
  /** Directories with these names are neither listed nor entered. */
  readonly skip: readonly string[];
}

export type ListAnswer =
  | { readonly ok: true; readonly entries: readonly FileEntry[]; readonly truncated: boolean }
  | { readonly ok: false; readonly fault: FileFault };

export type RemoveAnswer = {
  readonly path: string;
  readonly ok: boolean;
  readonly fault?: FileFault | undefined;
};

export interface BoxFiles {
  /** One answer per path, in order. */
  stat(paths: readonly string[], options: CallOptions): Promise<readonly StatAnswer[]>;
  /** Streams a whole selection in one request, file after file, with back-pressure. A fault of one file ends that file only. */
  read(requests: readonly ReadRequest[], options: CallOptions): AsyncIterable<FileStreamEvent>;
  /** Writes a whole selection in one request; parents are created. One answer per file, in order. */
  write(requests: readonly WriteRequest[], options: CallOptions): Promise<readonly WriteAnswer[]>;
  list(request: ListRequest, options: CallOptions): Promise<ListAnswer>;
  /** Removes exactly these entries (a directory only with all below it when `recursive`), never through a link. */
  remove(
    targets: readonly {
      readonly path: string;
      readonly version?: string | undefined;
      readonly recursive?: boolean;
    }[],
    options: CallOptions,
  ): Promise<readonly RemoveAnswer[]>;
  /** Makes empty directories; whatever has one of the names is removed first, of a link only the link (box §5.1). */
  resetDirectories(paths: readonly string[], options: CallOptions): Promise<void>;
}

export interface BoxHandle extends AsyncDisposable {
  readonly files: BoxFiles;
  /**
   * Runs a command and yields its output with back-pressure. Returning early or aborting stops the whole process tree
   * (box §12.3); an abort still yields the exit (`cancelled`) when the tree is gone.
   * @throws ServiceError `box.engine_unavailable` when the outcome cannot be known: never success, never repeated.
   */
  exec(request: ExecRequest, options: CallOptions): AsyncIterable<ExecEvent>;
  /**
   * Starts a process that lives until it ends, is disposed of, or the handle is. Resolves when it runs; an abort before
   * that leaves no process.
   * @throws ServiceError `box.forbidden` where the box is not served by the helper, and as `exec`
   */
  spawn(request: SpawnRequest, options: CallOptions): Promise<BoxProcess>;
}
