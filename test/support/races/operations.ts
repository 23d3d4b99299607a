/** What the service does with files of a box, as its own features do it: each returns all it would have shown or kept. */

import { MemoryBlobStore } from "../../../src/adapters/memory/memory-blob-store.js";
import { openMemoryStores } from "../../../src/adapters/memory/open-memory-stores.js";
import { RandomIdSource } from "../../../src/adapters/system/random-id-source.js";
import { SystemClock } from "../../../src/adapters/system/system-clock.js";
import { exportFiles } from "../../../src/box/export-files.js";
import { importAttachments } from "../../../src/box/import-attachments.js";
import { listWorkspace, openWorkspaceFile, removeWorkspaceFile } from "../../../src/box/workspace-files.js";
import type { BoxSettings } from "../../../src/domain/box.js";
import type { RunId } from "../../../src/domain/ids.js";
import { KeyedLock } from "../../../src/lib/keyed-lock.js";
import type { BoxHandle } from "../../../src/ports/box-handle.js";
import type { CallOptions } from "../../../src/ports/options.js";
import type { ToolBox } from "../../../src/ports/tool.js";
import { nativeTools } from "../../../src/tools/native/index.js";
import { FakeJobs } from "../../fakes/fake-jobs.js";
import { FILE } from "./swaps.js";

export const OPERATIONS = [
  "export",
  "import",
  "read",
  "download",
  "write",
  "edit",
  "search",
  "list",
  "delete",
] as const;
export type Operation = (typeof OPERATIONS)[number];

/** One way of one operation through. */
export interface Attempt {
  readonly ok: boolean;
  /** Every byte that left the box, and every word that was said. */
  readonly seen: string;
}

const ROOM = { maxFileBytes: 1 << 24, maxFiles: 1000, maxTotalBytes: 1 << 26 };
const INBOX = "/workspace/inbox/run_race";
const TOOLS = new Map(nativeTools({ outputChars: 4000 }).map((tool) => [tool.name, tool]));

/** Directory that is swapped while the operation goes on. */
export function placeOf(operation: Operation): string {
  return operation === "import" ? `${INBOX}/0` : "/workspace/race/d";
}

type Steps = Readonly<Record<Operation, (options: CallOptions) => Promise<Attempt>>>;

export class Operations {
  readonly #box: BoxHandle;
  readonly #settings: BoxSettings;
  readonly #ids = new RandomIdSource();
  readonly #clock = new SystemClock();
  readonly #steps: Steps;
  #count = 0;

  constructor(box: BoxHandle, settings: BoxSettings) {
    this.#box = box;
    this.#settings = settings;
    const path = `${placeOf("read")}/${FILE}`;
    this.#steps = {
      export: (options) => this.#export(path, options),
      import: (options) => this.#import(options),
      read: (options) => this.#tool("read", { path }, options),
      download: (options) => this.#download(path, options),
      write: (options) => this.#tool("write", { path, content: `written ${this.#count}` }, options),
      edit: (options) => this.#edit(path, options),
      search: (options) => this.#search(options),
      list: (options) => this.#list(options),
      delete: (options) => this.#delete(path, options),
    };
  }

  async attempt(operation: Operation, options: CallOptions): Promise<Attempt> {
    this.#count += 1;
    return this.#steps[operation](options);
  }

  async #export(path: string, options: CallOptions): Promise<Attempt> {
    const runId: RunId = `run_${this.#count}`;
    const clock = this.#clock;
    const blobs = new MemoryBlobStore({ clock });
    const deps = {
      files: this.#box.files,
      blobs,
      fileStore: openMemoryStores({ clock }).files,
      locks: new KeyedLock<RunId>(),
      sniffMimeType: async () => "application/octet-stream",
      ids: this.#ids,
      clock,
    };
    const directories = { inbox: `/workspace/inbox/${runId}`, outbox: `/workspace/outbox/${runId}` };
    const request = { tenant: "main", runId, paths: [path], limits: ROOM, ...directories };
    const answer = await exportFiles(deps, request, options);
    if (!answer.ok) return { ok: false, seen: JSON.stringify(answer) };
    const [file] = answer.files;
    return { ok: true, seen: await textOf(blobs.read(file?.sha256 ?? "", null, options)) };
  }

  async #import(options: CallOptions): Promise<Attempt> {
    const blobs = new MemoryBlobStore({ clock: this.#clock });
    await using staging = await blobs.stage();
    await staging.write(Buffer.from(`imported ${this.#count}\n`));
    const { sha256, sizeBytes } = await staging.commit();
    await this.#box.files.resetDirectories([INBOX], options);
    const refusing = { open: () => Promise.reject(new Error("Nothing is fetched.")) };
    const { outcomes } = await importAttachments(
      { files: this.#box.files, blobs, outbound: refusing },
      {
        inbox: INBOX,
        attachments: [
          {
            reference: "attachment-0",
            type: "file",
            source: "upload",
            url: null,
            id: null,
            name: FILE,
            mime_type: null,
            size: sizeBytes,
            path: null,
          },
        ],
        sources: [{ kind: "blob", sha256, sizeBytes }],
        outcomes: [],
        limits: { ...ROOM, urlTimeoutMs: 1000 },
      },
      options,
    );
    return { ok: outcomes[0]?.state === "imported", seen: JSON.stringify(outcomes) };
  }

  async #download(path: string, options: CallOptions): Promise<Attempt> {
    const file = await openWorkspaceFile(this.#box.files, path, options);
    return { ok: true, seen: await textOf(file.read(null, options)) };
  }

  /** Of the line that every other attempt puts back. */
  async #edit(path: string, options: CallOptions): Promise<Attempt> {
    await this.#tool("write", { path, content: "one two" }, options);
    return this.#tool("edit", { path, old_string: "two", new_string: "three" }, options);
  }

  async #search(options: CallOptions): Promise<Attempt> {
    const found = await this.#tool("grep", { pattern: ".", path: "/workspace/race" }, options);
    const named = await this.#tool("glob", { pattern: "**/*", path: "/workspace/race" }, options);
    return { ok: found.ok && named.ok, seen: found.seen + named.seen };
  }

  async #list(options: CallOptions): Promise<Attempt> {
    const listing = await listWorkspace(this.#box.files, { path: "/workspace/race", depth: 5 }, options);
    return { ok: true, seen: JSON.stringify(listing) };
  }

  async #delete(file: string, options: CallOptions): Promise<Attempt> {
    const recursive = this.#count % 2 === 0;
    const path = recursive ? placeOf("delete") : file;
    await removeWorkspaceFile(this.#box.files, { path, recursive }, options);
    return { ok: true, seen: "" };
  }

  async #tool(name: string, input: Record<string, unknown>, options: CallOptions): Promise<Attempt> {
    const tool = TOOLS.get(name);
    if (tool === undefined) throw new Error(`There is no tool ${name}.`);
    for await (const event of tool.run({ id: `call-${this.#count}`, input }, this.#toolBox(), options))
      if (event.type === "outcome") return { ok: event.outcome.ok, seen: JSON.stringify(event.outcome) };
    throw new Error("The tool has no outcome.");
  }

  #toolBox(): ToolBox {
    return {
      runId: "run_race",
      sessionId: "ses_race",
      inbox: INBOX,
      outbox: "/workspace/outbox/run_race",
      settings: this.#settings,
      handle: this.#box,
      attachments: [],
      jobs: new FakeJobs(),
      exportFiles: async () => ({ ok: false, error: "Not here." }),
    };
  }
}

async function textOf(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all).toString("latin1");
}
