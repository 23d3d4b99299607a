/** Files of a box over the worker's requests: one worker per request, one request per selection. */
import type { FileEntry, FileFault, StatAnswer } from "../../domain/box.js";
import { ServiceError } from "../../domain/errors.js";
import { normalPath, toTarget } from "../../domain/workspace-target.js";
import type {
  BoxFiles,
  FileStreamEvent,
  ListAnswer,
  ListRequest,
  ReadRequest,
  RemoveAnswer,
  WriteAnswer,
  WriteRequest,
} from "../../ports/box-handle.js";
import type { CallOptions } from "../../ports/options.js";
import { brokenFrame, FROM_WORKER, type WorkerFrame } from "./frame-codec.js";
import { ReadProgress } from "./read-progress.js";
import { sendContents } from "./send-contents.js";
import { type OpenWorker, WorkerRequest } from "./worker-request.js";
import {
  fileFaultSchema,
  listEndSchema,
  listedSchema,
  pathFaultSchema,
  readEntry,
  readPayload,
  toFileEntry,
} from "./worker-wire.js";

const DEFAULT_FILE_MODE = 0o644;
/** A list that takes more is cut, whatever the box says of its end. */
const MAX_LIST_BYTES = 64 * 1024 * 1024;

/** What is known of the room for files. Nothing of it rejects. */
export interface Room {
  /** Whether nothing may grow. */
  isHostFull(): Promise<boolean>;
  /** Why a file of this size did not fit: limit, use and what to do. */
  explainNoSpace(sizeBytes: number): Promise<string>;
}

export class WorkerFiles implements BoxFiles {
  readonly #open: OpenWorker;
  readonly #room: Room | null;

  /** @param room if not given, nothing is asked of the host's disk */
  constructor(open: OpenWorker, room: Room | null = null) {
    this.#open = open;
    this.#room = room;
  }

  async stat(paths: readonly string[], options: CallOptions): Promise<readonly StatAnswer[]> {
    const read = (frame: WorkerFrame): StatAnswer => {
      const path = pathAt(paths, frame.index);
      return frame.type === FROM_WORKER.entry
        ? { path, entry: readEntry(normalPath(path), frame) }
        : { path, fault: readPayload(pathFaultSchema, frame) };
    };
    return this.#collect({ op: "stat", items: paths.map(toTarget) }, read, options);
  }

  async *read(requests: readonly ReadRequest[], options: CallOptions): AsyncIterable<FileStreamEvent> {
    if (requests.length === 0) return;
    const items = requests.map(({ path, offset, length, version }) => ({
      ...toTarget(path),
      offset,
      ...(Number.isFinite(length) ? { length } : {}),
      ...(version === undefined ? {} : { version }),
    }));
    using request = await WorkerRequest.open(this.#open, { op: "read", items }, options);
    const progress = new ReadProgress(requests);
    for (let frame = await request.next(); frame !== null; frame = await request.next())
      yield progress.take(frame);
    if (!progress.isComplete) throw request.lost(null);
  }

  async write(requests: readonly WriteRequest[], options: CallOptions): Promise<readonly WriteAnswer[]> {
    if (requests.length === 0) return [];
    const isHostFull = (await this.#room?.isHostFull()) ?? false;
    const answers: readonly WriteAnswer[] = isHostFull
      ? requests.map(() => ({ ok: false, fault: "no_space" }))
      : await this.#write(requests, options);
    return Promise.all(answers.map(async (answer, index) => this.#explained(answer, requests[index])));
  }

  async #explained(answer: WriteAnswer, request: WriteRequest | undefined): Promise<WriteAnswer> {
    if (answer.ok || answer.fault !== "no_space" || this.#room === null) return answer;
    return { ...answer, space: await this.#room.explainNoSpace(request?.sizeBytes ?? 0) };
  }

  async #write(requests: readonly WriteRequest[], options: CallOptions): Promise<readonly WriteAnswer[]> {
    const items = requests.map(({ path, mode, sizeBytes, version, fileMode }) => ({
      ...toTarget(path),
      mode,
      size: sizeBytes,
      file_mode: (fileMode ?? DEFAULT_FILE_MODE) & 0o777,
      ...(version === undefined || mode !== "overwrite" ? {} : { version }),
    }));
    const readWritten = (frame: WorkerFrame): WriteAnswer =>
      frame.type === FROM_WORKER.entry
        ? { ok: true, entry: readEntry(normalPath(requests[frame.index]?.path ?? ""), frame) }
        : { ok: false, fault: readPayload(fileFaultSchema, frame) };
    using request = await WorkerRequest.open(this.#open, { op: "write", items }, options);
    const [sent, answered] = await Promise.allSettled([
      sendContents(request, requests),
      readAnswers(request, requests.length, readWritten),
    ]);
    options.signal.throwIfAborted();
    // What broke the content also ends the answers, so it is told first.
    if (sent.status === "rejected") throw sent.reason;
    if (answered.status === "rejected") throw answered.reason;
    return answered.value;
  }

  async list(list: ListRequest, options: CallOptions): Promise<ListAnswer> {
    const base = normalPath(list.path);
    const body = {
      op: "list",
      ...toTarget(list.path),
      depth: list.depth,
      max_entries: list.maxEntries,
      skip: list.skip,
    };
    using request = await WorkerRequest.open(this.#open, body, options);
    const entries: FileEntry[] = [];
    let sizeBytes = 0;
    for (let frame = await request.next(); frame !== null; frame = await request.next()) {
      sizeBytes += frame.payload.length;
      if (frame.type === FROM_WORKER.fault) return { ok: false, fault: readPayload(fileFaultSchema, frame) };
      if (frame.type === FROM_WORKER.answer)
        return { ok: true, entries, truncated: readPayload(listEndSchema, frame).truncated };
      if (frame.type !== FROM_WORKER.entries) break;
      for (const { names, ...entry } of readPayload(listedSchema, frame))
        entries.push(toFileEntry(`${base}/${names.join("/")}`, entry));
      if (entries.length > list.maxEntries || sizeBytes > MAX_LIST_BYTES)
        return { ok: true, entries: entries.slice(0, list.maxEntries), truncated: true };
    }
    throw request.lost(null);
  }

  async remove(
    targets: readonly {
      readonly path: string;
      readonly version?: string | undefined;
      readonly recursive?: boolean;
    }[],
    options: CallOptions,
  ): Promise<readonly RemoveAnswer[]> {
    const items = targets.map(({ path, version, recursive }) => ({
      ...toTarget(path),
      recursive: recursive ?? false,
      ...(version === undefined ? {} : { version }),
    }));
    const paths = targets.map(({ path }) => path);
    const read = (frame: WorkerFrame): RemoveAnswer => {
      const path = pathAt(paths, frame.index);
      return frame.type === FROM_WORKER.finished
        ? { path, ok: true }
        : { path, ok: false, fault: readPayload(fileFaultSchema, frame) };
    };
    return this.#collect({ op: "remove", items }, read, options);
  }

  async resetDirectories(paths: readonly string[], options: CallOptions): Promise<void> {
    const faults = await this.#collect({ op: "reset", items: paths.map(toTarget) }, readFault, options);
    const index = faults.findIndex((fault) => fault !== null);
    const fault = faults[index];
    if (fault === undefined || fault === null) return;
    throw resetError(paths[index] ?? "", fault);
  }

  async #collect<Answer>(
    body: { readonly op: string; readonly items: readonly object[] },
    read: (frame: WorkerFrame) => Answer,
    options: CallOptions,
  ): Promise<readonly Answer[]> {
    if (body.items.length === 0) return [];
    using request = await WorkerRequest.open(this.#open, body, options);
    return await readAnswers(request, body.items.length, read);
  }
}

/** Exactly one answer per item, in order. */
async function readAnswers<Answer>(
  request: WorkerRequest,
  count: number,
  read: (frame: WorkerFrame) => Answer,
): Promise<readonly Answer[]> {
  const answers: Answer[] = [];
  for (let frame = await request.next(); frame !== null; frame = await request.next()) {
    if (frame.index !== answers.length || answers.length === count)
      throw brokenFrame(`The box answered item ${frame.index} of ${count} out of turn.`);
    answers.push(read(frame));
  }
  if (answers.length < count) throw request.lost(null);
  return answers;
}

function readFault(frame: WorkerFrame): FileFault | null {
  return frame.type === FROM_WORKER.finished ? null : readPayload(fileFaultSchema, frame);
}

function pathAt(paths: readonly string[], index: number): string {
  return paths[index] ?? "";
}

function resetError(path: string, fault: FileFault): ServiceError {
  const code = fault === "no_space" ? "box.quota" : "box.readiness";
  return new ServiceError(code, `The box could not make the directory ${JSON.stringify(path)}: ${fault}.`, {
    details: { path, fault },
  });
}
