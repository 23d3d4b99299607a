/** The workspace of a fake box: files, directories, links and what is neither, in memory. */
import type { FileEntry, FileFault } from "../../src/domain/box.js";
import { normaliseWorkspacePath } from "../../src/domain/workspace-path.js";

export interface FakeFile {
  readonly kind: "file";
  readonly serial: number;
  bytes: Uint8Array;
  mode: number;
  modifiedMs: number;
  /** Counts the changes of content, as times do in a real one. */
  changes: number;
  links: number;
}

export interface FakeDirectory {
  readonly kind: "directory";
  readonly serial: number;
  readonly children: Map<string, FakeNode>;
  mode: number;
  modifiedMs: number;
}

interface FakeLink {
  readonly kind: "link";
  readonly serial: number;
  readonly target: string;
}

interface FakeOther {
  readonly kind: "other";
  readonly serial: number;
}

export type FakeNode = FakeFile | FakeDirectory | FakeLink | FakeOther;

export type Found<Thing> =
  | { readonly ok: true; readonly value: Thing }
  | { readonly ok: false; readonly fault: FileFault };

export class FakeTree {
  readonly root: FakeDirectory;
  #serial = 0;
  #now = 1_700_000_000_000;

  constructor() {
    this.root = this.directory();
  }

  file(bytes: Uint8Array = new Uint8Array(0), mode = 0o644): FakeFile {
    return { kind: "file", serial: this.#next(), bytes, mode, modifiedMs: this.tick(), changes: 0, links: 1 };
  }

  directory(): FakeDirectory {
    return {
      kind: "directory",
      serial: this.#next(),
      children: new Map(),
      mode: 0o755,
      modifiedMs: this.tick(),
    };
  }

  link(target: string): FakeLink {
    return { kind: "link", serial: this.#next(), target };
  }

  other(): FakeOther {
    return { kind: "other", serial: this.#next() };
  }

  /** Each change has a time of its own. */
  tick(): number {
    this.#now += 1;
    return this.#now;
  }

  /** The directory `parts`, never through a link. @param make what to do where nothing is */
  walk(parts: readonly string[], make: "find" | "make" | "clear" = "find"): Found<FakeDirectory> {
    let directory = this.root;
    for (const part of parts) {
      const child = this.#step(directory, part, make);
      if (!child.ok) return child;
      directory = child.value;
    }
    return { ok: true, value: directory };
  }

  /** The entry itself, of a link the link. */
  find(parts: readonly string[]): Found<FakeNode> {
    const name = parts.at(-1);
    if (name === undefined) return { ok: true, value: this.root };
    const parent = this.walk(parts.slice(0, -1));
    if (!parent.ok) return parent;
    const node = parent.value.children.get(name);
    return node === undefined ? { ok: false, fault: "not_found" } : { ok: true, value: node };
  }

  /** Puts a file where a command in the box would; parents are made. @param path absolute, below /workspace */
  put(path: string, content: string | Uint8Array): void {
    const parts = partsOf(path);
    const parent = this.walk(parts.slice(0, -1), "make");
    if (!parent.ok) throw new Error(`${path}: ${parent.fault}`);
    parent.value.children.set(parts.at(-1) ?? "", this.file(Buffer.from(content)));
  }

  /** @returns the text of a file, null where there is none */
  text(path: string): string | null {
    const found = this.find(partsOf(path));
    return found.ok && found.value.kind === "file" ? Buffer.from(found.value.bytes).toString("utf8") : null;
  }

  sizeBytes(directory: FakeDirectory = this.root): number {
    let sum = 0;
    for (const child of directory.children.values())
      sum +=
        child.kind === "directory" ? this.sizeBytes(child) : child.kind === "file" ? child.bytes.length : 0;
    return sum;
  }

  #step(directory: FakeDirectory, name: string, make: "find" | "make" | "clear"): Found<FakeDirectory> {
    if (Buffer.byteLength(name) > 255) return { ok: false, fault: "bad_path" };
    const child = directory.children.get(name);
    if (child?.kind === "directory") return { ok: true, value: child };
    if (make === "find" || (make === "make" && child !== undefined))
      return { ok: false, fault: faultOfStep(child) };
    const made = this.directory();
    directory.children.set(name, made);
    return { ok: true, value: made };
  }

  #next(): number {
    this.#serial += 1;
    return this.#serial;
  }
}

/** Names from /workspace downwards. */
export function partsOf(path: string): readonly string[] {
  const normalised = normaliseWorkspacePath(path);
  return normalised.ok ? normalised.path.split("/").slice(2) : [];
}

function faultOfStep(child: FakeNode | undefined): FileFault {
  if (child === undefined) return "not_found";
  return child.kind === "link" ? "symlink_component" : "not_directory";
}

export function versionOf(node: FakeNode): string {
  if (node.kind === "file") return `${node.serial}.${node.bytes.length}.${node.changes}.${node.links}`;
  return node.kind === "directory" ? `${node.serial}.${node.children.size}` : `${node.serial}`;
}

export function describeNode(path: string, node: FakeNode): FileEntry {
  const isPlain = node.kind === "file" || node.kind === "directory";
  return {
    path,
    kind: node.kind,
    sizeBytes: node.kind === "file" ? node.bytes.length : 0,
    linkCount: node.kind === "file" ? node.links : 1,
    mode: isPlain ? node.mode : 0o777,
    modifiedMs: isPlain ? node.modifiedMs : 0,
    version: versionOf(node),
    readable: isPlain ? (node.mode & 0o400) !== 0 : true,
  };
}
