/** `BoxFiles` over a tree in memory, with the faults of the real thing. */
import type { FileEntry, FileFault, PathFault, StatAnswer } from "../../src/domain/box.js";
import { ServiceError } from "../../src/domain/errors.js";
import { normaliseWorkspacePath } from "../../src/domain/workspace-path.js";
import type {
  BoxFiles,
  FileStreamEvent,
  ListAnswer,
  ListRequest,
  ReadRequest,
  RemoveAnswer,
  WriteAnswer,
  WriteRequest,
} from "../../src/ports/box-handle.js";
import type { CallOptions } from "../../src/ports/options.js";
import {
  describeNode,
  type FakeDirectory,
  type FakeFile,
  type FakeNode,
  type FakeTree,
  type Found,
  versionOf,
} from "./fake-box-tree.js";

const PIECE_BYTES = 64 * 1024;

export interface FakeBoxFilesDeps {
  readonly tree: FakeTree;
  /** Bytes that the workspace holds; Infinity = no quota. */
  readonly spaceBytes: number;
  /** Throws when the box cannot be asked. */
  readonly check: () => void;
}

type RemoveTarget = Parameters<BoxFiles["remove"]>[0][number];

export class FakeBoxFiles implements BoxFiles {
  readonly #deps: FakeBoxFilesDeps;

  constructor(deps: FakeBoxFilesDeps) {
    this.#deps = deps;
  }

  async stat(paths: readonly string[], options: CallOptions): Promise<readonly StatAnswer[]> {
    await this.#begin(options);
    return paths.map((path): StatAnswer => {
      const found = this.#find(path);
      if (!found.ok) return { path, fault: pathFault(found.fault) };
      return { path, entry: describeNode(normal(path), found.value) };
    });
  }

  async *read(requests: readonly ReadRequest[], options: CallOptions): AsyncIterable<FileStreamEvent> {
    for (const [index, request] of requests.entries()) {
      await this.#begin(options);
      const found = this.#findFile(request);
      if (found.ok) yield* this.#readOne(index, request, found.value);
      else yield { type: "fault", index, fault: found.fault };
    }
  }

  async write(requests: readonly WriteRequest[], options: CallOptions): Promise<readonly WriteAnswer[]> {
    const answers: WriteAnswer[] = [];
    for (const request of requests) {
      await this.#begin(options);
      const bytes = await collect(request);
      options.signal.throwIfAborted();
      const found = this.#place(request, bytes);
      answers.push(
        found.ok
          ? { ok: true, entry: describeNode(normal(request.path), found.value) }
          : { ok: false, fault: found.fault },
      );
    }
    return answers;
  }

  async list(request: ListRequest, options: CallOptions): Promise<ListAnswer> {
    await this.#begin(options);
    const parts = split(request.path);
    if (!parts.ok) return parts;
    const start = this.#deps.tree.walk(parts.value);
    if (!start.ok) return start;
    const entries: FileEntry[] = [];
    const waiting = [{ path: normal(request.path), directory: start.value, depth: 1 }];
    for (const { path, directory, depth } of waiting)
      for (const [name, child] of [...directory.children].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
        if (child.kind === "directory" && request.skip.includes(name)) continue;
        if (entries.length === request.maxEntries) return { ok: true, entries, truncated: true };
        entries.push(describeNode(`${path}/${name}`, child));
        if (child.kind === "directory" && depth < request.depth)
          waiting.push({ path: `${path}/${name}`, directory: child, depth: depth + 1 });
      }
    return { ok: true, entries, truncated: false };
  }

  async remove(targets: readonly RemoveTarget[], options: CallOptions): Promise<readonly RemoveAnswer[]> {
    await this.#begin(options);
    return targets.map((target) => {
      const fault = this.#removeOne(target);
      return fault === null ? { path: target.path, ok: true } : { path: target.path, ok: false, fault };
    });
  }

  async resetDirectories(paths: readonly string[], options: CallOptions): Promise<void> {
    await this.#begin(options);
    for (const path of paths) {
      const parts = split(path);
      const name = parts.ok ? parts.value.at(-1) : undefined;
      const parent = parts.ok ? this.#deps.tree.walk(parts.value.slice(0, -1), "clear") : parts;
      if (name === undefined || !parent.ok)
        throw new ServiceError(
          "box.readiness",
          `The box could not make the directory ${JSON.stringify(path)}.`,
        );
      parent.value.children.set(name, this.#deps.tree.directory());
    }
  }

  /** A real box answers later than the call, never within it. */
  async #begin({ signal }: CallOptions): Promise<void> {
    await Promise.resolve();
    signal.throwIfAborted();
    this.#deps.check();
  }

  #find(path: string): Found<FakeNode> {
    const parts = split(path);
    return parts.ok ? this.#deps.tree.find(parts.value) : parts;
  }

  #findFile({ path, version }: ReadRequest): Found<FakeFile> {
    const found = this.#find(path);
    if (!found.ok) return found;
    if (found.value.kind !== "file") return { ok: false, fault: "not_regular" };
    if ((found.value.mode & 0o400) === 0) return { ok: false, fault: "unreadable" };
    if (version !== undefined && versionOf(found.value) !== version) return { ok: false, fault: "changed" };
    return { ok: true, value: found.value };
  }

  *#readOne(index: number, request: ReadRequest, file: FakeFile): Iterable<FileStreamEvent> {
    const before = versionOf(file);
    yield { type: "entry", index, entry: describeNode(normal(request.path), file) };
    const bytes = file.bytes.subarray(request.offset, request.offset + request.length);
    for (let start = 0; start < bytes.length; start += PIECE_BYTES) {
      yield { type: "bytes", index, bytes: bytes.subarray(start, start + PIECE_BYTES) };
      if (versionOf(file) !== before) break;
    }
    yield versionOf(file) === before ? { type: "end", index } : { type: "fault", index, fault: "changed" };
  }

  #place(request: WriteRequest, bytes: Uint8Array): Found<FakeFile> {
    const parts = split(request.path);
    if (!parts.ok) return parts;
    const name = parts.value.at(-1);
    if (name === undefined) return { ok: false, fault: "not_regular" };
    if (Buffer.byteLength(name) > 255) return { ok: false, fault: "bad_path" };
    const parent = this.#deps.tree.walk(parts.value.slice(0, -1), "make");
    if (!parent.ok) return parent;
    const existing = parent.value.children.get(name);
    const fault = faultOfTarget(request, existing);
    if (fault !== null) return { ok: false, fault };
    if (this.#deps.tree.sizeBytes() + bytes.length > this.#deps.spaceBytes)
      return { ok: false, fault: "no_space" };
    return { ok: true, value: this.#put(parent.value, name, { request, bytes }) };
  }

  #put(
    parent: FakeDirectory,
    name: string,
    { request, bytes }: { readonly request: WriteRequest; readonly bytes: Uint8Array },
  ): FakeFile {
    const existing = parent.children.get(name);
    if (request.mode === "append" && existing?.kind === "file") {
      existing.bytes = Buffer.concat([existing.bytes, bytes]);
      existing.changes += 1;
      existing.modifiedMs = this.#deps.tree.tick();
      return existing;
    }
    const mode = existing?.kind === "file" ? existing.mode : (request.fileMode ?? 0o644);
    const file = this.#deps.tree.file(bytes, mode);
    if (existing?.kind === "file") existing.links -= 1;
    parent.children.set(name, file);
    return file;
  }

  #removeOne({ path, version, recursive }: RemoveTarget): FileFault | null {
    const parts = split(path);
    if (!parts.ok) return parts.fault;
    const name = parts.value.at(-1);
    if (name === undefined) return "denied";
    const parent = this.#deps.tree.walk(parts.value.slice(0, -1));
    if (!parent.ok) return parent.fault;
    const node = parent.value.children.get(name);
    if (node === undefined) return "not_found";
    if (version !== undefined && versionOf(node) !== version) return "changed";
    if (node.kind === "directory" && recursive !== true) return "not_regular";
    parent.value.children.delete(name);
    if (node.kind === "file") node.links -= 1;
    return null;
  }
}

function faultOfTarget(request: WriteRequest, existing: FakeNode | undefined): FileFault | null {
  if (existing === undefined)
    return request.mode === "overwrite" && request.version !== undefined ? "changed" : null;
  if (request.mode === "create") return "exists";
  if (existing.kind !== "file") return "not_regular";
  if (request.mode === "append" || request.version === undefined) return null;
  return versionOf(existing) === request.version ? null : "changed";
}

/** @throws ServiceError `box.validation` when the content has another length than announced */
async function collect({ path, content, sizeBytes }: WriteRequest): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of content) {
    size += piece.length;
    if (size > sizeBytes) break;
    pieces.push(Uint8Array.from(piece));
  }
  if (size !== sizeBytes)
    throw new ServiceError(
      "box.validation",
      `The content of ${JSON.stringify(path)} has not the ${sizeBytes} bytes that were announced.`,
    );
  return Buffer.concat(pieces);
}

function split(path: string): Found<readonly string[]> {
  if (!path.startsWith("/")) return { ok: false, fault: "bad_path" };
  const normalised = normaliseWorkspacePath(path);
  if (!normalised.ok) return normalised;
  const parts = normalised.path.split("/").slice(2);
  return parts.some((part) => Buffer.byteLength(part) > 255)
    ? { ok: false, fault: "bad_path" }
    : { ok: true, value: parts };
}

function normal(path: string): string {
  const normalised = normaliseWorkspacePath(path);
  return normalised.ok ? normalised.path : path;
}

function pathFault(fault: FileFault): PathFault {
  switch (fault) {
    case "not_found":
    case "symlink_component":
    case "not_directory":
    case "escapes":
    case "unreadable":
    case "bad_path":
      return fault;
    default:
      return "unreadable";
  }
}
