/** Files of a box in memory, for rules that need only `BoxFiles`; hooks let a test play the hostile box. */
import { createHash } from "node:crypto";
import type { FileEntry, FileKind, StatAnswer } from "../../../src/domain/box.js";
import type {
  BoxFiles,
  FileStreamEvent,
  ListAnswer,
  ReadRequest,
  RemoveAnswer,
  WriteAnswer,
  WriteRequest,
} from "../../../src/ports/box-handle.js";
import type { CallOptions } from "../../../src/ports/options.js";

interface Node {
  readonly kind: FileKind;
  readonly bytes: Uint8Array;
  readonly linkCount: number;
  readonly readable: boolean;
}

export class MemoryBoxFiles implements BoxFiles {
  readonly nodes = new Map<string, Node>();
  readonly calls: string[] = [];
  /** Called between the lookup of a selection and its read. */
  beforeRead: () => void = () => {};
  /** Replaces what the read of a selection yields. */
  scriptedRead: readonly FileStreamEvent[] | null = null;
  /** Paths that cannot be removed. */
  readonly stuck = new Set<string>();
  /** What is said of them. */
  space: string | undefined;
  failRemove = false;
  /** Called before sources are removed. */
  beforeRemove: () => void = () => {};

  put(path: string, content: string | Uint8Array, change: Partial<Node> = {}): void {
    const bytes = typeof content === "string" ? Buffer.from(content) : content;
    this.nodes.set(path, { kind: "file", bytes, linkCount: 1, readable: true, ...change });
  }

  entry(path: string): FileEntry | null {
    const node = this.nodes.get(path);
    if (node === undefined) return null;
    const version = createHash("sha256").update(node.bytes).update(node.kind).digest("hex");
    const { kind, linkCount, readable, bytes } = node;
    return {
      path,
      kind,
      sizeBytes: bytes.byteLength,
      linkCount,
      mode: 0o644,
      modifiedMs: 0,
      version,
      readable,
    };
  }

  async stat(paths: readonly string[], options: CallOptions): Promise<readonly StatAnswer[]> {
    options.signal.throwIfAborted();
    this.calls.push(`stat ${paths.length}`);
    return paths.map((path): StatAnswer => {
      const entry = this.entry(path);
      return entry === null ? { path, fault: "not_found" } : { path, entry };
    });
  }

  async *read(requests: readonly ReadRequest[], options: CallOptions): AsyncIterable<FileStreamEvent> {
    this.beforeRead();
    this.calls.push(`read ${requests.length}`);
    options.signal.throwIfAborted();
    if (this.scriptedRead !== null) {
      yield* this.scriptedRead;
      return;
    }
    for (const [index, request] of requests.entries()) yield* this.#readOne(index, request);
  }

  #readOne(index: number, request: ReadRequest): readonly FileStreamEvent[] {
    const entry = this.entry(request.path);
    if (entry === null) return [{ type: "fault", index, fault: "not_found" }];
    if (request.version !== undefined && entry.version !== request.version)
      return [{ type: "fault", index, fault: "changed" }];
    const bytes = this.nodes.get(request.path)?.bytes ?? new Uint8Array(0);
    const pieces = Array.from({ length: Math.ceil(bytes.byteLength / 1000) }, (_none, piece) =>
      bytes.subarray(piece * 1000, (piece + 1) * 1000),
    );
    return [
      { type: "entry", index, entry },
      ...pieces.map((piece): FileStreamEvent => ({ type: "bytes", index, bytes: piece })),
      { type: "end", index },
    ];
  }

  async write(requests: readonly WriteRequest[], options: CallOptions): Promise<readonly WriteAnswer[]> {
    this.calls.push(`write ${requests.length}`);
    const answers: WriteAnswer[] = [];
    for (const request of requests) {
      options.signal.throwIfAborted();
      const pieces: Uint8Array[] = [];
      for await (const piece of request.content) pieces.push(piece);
      answers.push(this.#writeOne(request, Buffer.concat(pieces)));
    }
    return answers;
  }

  #writeOne(request: WriteRequest, bytes: Uint8Array): WriteAnswer {
    if (this.stuck.has(request.path)) return { ok: false, fault: "no_space", space: this.space };
    if (bytes.byteLength !== request.sizeBytes) return { ok: false, fault: "changed" };
    if (request.mode === "create" && this.nodes.has(request.path)) return { ok: false, fault: "exists" };
    this.put(request.path, bytes);
    const entry = this.entry(request.path);
    return entry === null ? { ok: false, fault: "not_found" } : { ok: true, entry };
  }

  async list(request: { readonly path: string; readonly maxEntries: number }): Promise<ListAnswer> {
    const paths = [...this.nodes.keys()].filter((path) => path.startsWith(`${request.path}/`));
    if (paths.length === 0) return { ok: false, fault: "not_found" };
    const entries = paths.flatMap((path) => this.entry(path) ?? []);
    return {
      ok: true,
      entries: entries.slice(0, request.maxEntries),
      truncated: entries.length > request.maxEntries,
    };
  }

  async remove(
    targets: readonly { readonly path: string; readonly version?: string | undefined }[],
  ): Promise<readonly RemoveAnswer[]> {
    this.calls.push(`remove ${targets.length}`);
    this.beforeRemove();
    if (this.failRemove) throw new Error("The box is gone.");
    return targets.map(({ path, version }): RemoveAnswer => {
      if (this.stuck.has(path)) return { path, ok: false, fault: "denied" };
      if (version !== undefined && this.entry(path)?.version !== version)
        return { path, ok: false, fault: this.nodes.has(path) ? "changed" : "not_found" };
      return { path, ok: this.nodes.delete(path) };
    });
  }

  async resetDirectories(paths: readonly string[]): Promise<void> {
    for (const path of this.nodes.keys())
      if (paths.some((directory) => path.startsWith(`${directory}/`))) this.nodes.delete(path);
  }
}
