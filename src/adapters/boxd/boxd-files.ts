/** Files of a box over the helper's frames: one request per selection. */
import type { FileEntry, FileFault, StatAnswer } from "../../domain/box.js";
import { ServiceError } from "../../domain/errors.js";
import { normalPath } from "../../domain/workspace-target.js";
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
import {
  type Indexed,
  readEntry,
  readIndex,
  readListEnd,
  readListed,
  readWord,
  toFileFault,
  toPathFault,
} from "./answers.js";
import type { FieldWriter } from "./fields.js";
import { type Connect, FileRequest } from "./file-request.js";
import { type BoxdFrame, helperFault } from "./frame-codec.js";
import { ASK, type AskType, HEAR } from "./protocol.js";
import {
  askAll,
  askList,
  partition,
  pathItem,
  type RemoveTarget,
  readItem,
  removeItem,
  writeItem,
} from "./questions.js";
import { ReadProgress } from "./read-progress.js";
import { AnswerCount, sendContents } from "./send-contents.js";

/** A list that takes more is cut, whatever the box says of its end. */
const MAX_LIST_BYTES = 64 * 1024 * 1024;

/** Reads the answer to the item with this index, from after the index on. */
type ReadAnswer<Answer> = (index: number, frame: BoxdFrame, indexed: Indexed) => Answer;

interface Selection<Answer> {
  readonly type: AskType;
  readonly items: readonly FieldWriter[];
  readonly read: ReadAnswer<Answer>;
}

/** What is known of the room for files. Nothing of it rejects. */
export interface Room {
  /** Whether nothing may grow. */
  isHostFull(): Promise<boolean>;
  /** Why a file of this size did not fit: limit, use and what to do. */
  explainNoSpace(sizeBytes: number): Promise<string>;
}

export class BoxdFiles implements BoxFiles {
  readonly #connect: Connect;
  readonly #room: Room | null;

  /** @param room if not given, nothing is asked of the host's disk */
  constructor(connect: Connect, room: Room | null = null) {
    this.#connect = connect;
    this.#room = room;
  }

  async stat(paths: readonly string[], options: CallOptions): Promise<readonly StatAnswer[]> {
    const read: ReadAnswer<StatAnswer> = (index, frame, indexed) => {
      const path = paths[index] ?? "";
      return frame.type === HEAR.entry
        ? { path, entry: readWholeEntry(path, indexed) }
        : { path, fault: toPathFault(readFaultWord(frame, indexed)) };
    };
    return this.#collect({ type: ASK.stat, items: paths.map(pathItem), read }, options);
  }

  async *read(requests: readonly ReadRequest[], options: CallOptions): AsyncIterable<FileStreamEvent> {
    let first = 0;
    for (const items of partition(requests.map(readItem))) {
      const group = requests.slice(first, first + items.length);
      using request = await FileRequest.begin(
        this.#connect,
        { type: ASK.read, body: askAll(items) },
        options,
      );
      const progress = new ReadProgress(group, first);
      const take = (frame: BoxdFrame): FileStreamEvent => progress.take(frame);
      for (let event = await request.next(take); event !== null; event = await request.next(take))
        yield event;
      if (!progress.isComplete) throw request.lost();
      first += items.length;
    }
  }

  async write(requests: readonly WriteRequest[], options: CallOptions): Promise<readonly WriteAnswer[]> {
    if (requests.length > 0 && (await this.#room?.isHostFull()) === true)
      return Promise.all(
        requests.map(async (request) => this.#explained({ ok: false, fault: "no_space" }, request)),
      );
    const answers: WriteAnswer[] = [];
    for (const items of partition(requests.map(writeItem))) {
      const group = requests.slice(answers.length, answers.length + items.length);
      const written = await this.#writeGroup(group, items, options);
      for (const [index, answer] of written.entries())
        answers.push(await this.#explained(answer, group[index]));
    }
    return answers;
  }

  async #explained(answer: WriteAnswer, request: WriteRequest | undefined): Promise<WriteAnswer> {
    if (answer.ok || answer.fault !== "no_space" || this.#room === null) return answer;
    return { ...answer, space: await this.#room.explainNoSpace(request?.sizeBytes ?? 0) };
  }

  async list(list: ListRequest, options: CallOptions): Promise<ListAnswer> {
    const base = normalPath(list.path);
    const question = { type: ASK.list, body: askList(list) };
    using request = await FileRequest.begin(this.#connect, question, options);
    const entries: FileEntry[] = [];
    let sizeBytes = 0;
    const read = (frame: BoxdFrame): ListAnswer | readonly FileEntry[] => {
      sizeBytes += frame.payload.length;
      if (frame.type === HEAR.entries) return readListed(base, frame);
      if (frame.type === HEAR.listed) return { ok: true, entries, truncated: readListEnd(frame) };
      return { ok: false, fault: toFileFault(readFaultWord(frame, readIndex(frame))) };
    };
    for (let answer = await request.next(read); answer !== null; answer = await request.next(read)) {
      if ("ok" in answer) return answer;
      entries.push(...answer);
      if (entries.length > list.maxEntries || sizeBytes > MAX_LIST_BYTES)
        return { ok: true, entries: entries.slice(0, list.maxEntries), truncated: true };
    }
    throw request.lost();
  }

  async remove(targets: readonly RemoveTarget[], options: CallOptions): Promise<readonly RemoveAnswer[]> {
    const read: ReadAnswer<RemoveAnswer> = (index, frame, indexed) => {
      const path = targets[index]?.path ?? "";
      const fault = readEnd(frame, indexed);
      return fault === null ? { path, ok: true } : { path, ok: false, fault };
    };
    return this.#collect({ type: ASK.remove, items: targets.map(removeItem), read }, options);
  }

  async resetDirectories(paths: readonly string[], options: CallOptions): Promise<void> {
    const selection = { type: ASK.reset, items: paths.map(pathItem), read: readReset };
    const faults = await this.#collect(selection, options);
    for (const [index, fault] of faults.entries())
      if (fault !== null) throw resetError(paths[index] ?? "", fault);
  }

  async #collect<Answer>(selection: Selection<Answer>, options: CallOptions): Promise<readonly Answer[]> {
    const { type, items, read } = selection;
    const answers: Answer[] = [];
    for (const group of partition(items)) {
      using request = await FileRequest.begin(this.#connect, { type, body: askAll(group) }, options);
      answers.push(...(await readAnswers(request, group.length, shifted(read, answers.length))));
    }
    return answers;
  }

  async #writeGroup(
    writes: readonly WriteRequest[],
    items: readonly FieldWriter[],
    options: CallOptions,
  ): Promise<readonly WriteAnswer[]> {
    const count = new AnswerCount();
    const read: ReadAnswer<WriteAnswer> = (index, frame, indexed) => {
      count.add();
      return frame.type === HEAR.entry
        ? { ok: true, entry: readWholeEntry(writes[index]?.path ?? "", indexed) }
        : { ok: false, fault: toFileFault(readFaultWord(frame, indexed)) };
    };
    using request = await FileRequest.begin(this.#connect, { type: ASK.write, body: askAll(items) }, options);
    const [sent, answered] = await Promise.allSettled([
      sendContents(request, writes, count),
      readAnswers(request, writes.length, read).finally(() => count.end()),
    ]);
    options.signal.throwIfAborted();
    // What broke the content also ends the answers, so it is told first.
    if (sent.status === "rejected") throw sent.reason;
    if (answered.status === "rejected") throw answered.reason;
    return answered.value;
  }
}

/** Exactly one answer per item, in order. */
async function readAnswers<Answer>(
  request: FileRequest,
  count: number,
  read: ReadAnswer<Answer>,
): Promise<readonly Answer[]> {
  const answers: Answer[] = [];
  const readNext = (frame: BoxdFrame): { readonly answer: Answer } => {
    const indexed = readIndex(frame);
    if (indexed.index !== answers.length || answers.length === count)
      throw helperFault(`The box answered item ${indexed.index} of ${count} out of turn.`);
    return { answer: read(indexed.index, frame, indexed) };
  };
  for (let next = await request.next(readNext); next !== null; next = await request.next(readNext))
    answers.push(next.answer);
  if (answers.length < count) throw request.lost();
  return answers;
}

function shifted<Answer>(read: ReadAnswer<Answer>, by: number): ReadAnswer<Answer> {
  return (index, frame, indexed) => read(index + by, frame, indexed);
}

function readWholeEntry(path: string, { reader }: Indexed): FileEntry {
  const entry = readEntry(normalPath(path), reader);
  reader.end();
  return entry;
}

/** @returns null when the item is done */
function readEnd(frame: BoxdFrame, indexed: Indexed): FileFault | null {
  if (frame.type !== HEAR.finished) return toFileFault(readFaultWord(frame, indexed));
  indexed.reader.end();
  return null;
}

function readReset(_index: number, frame: BoxdFrame, indexed: Indexed): FileFault | null {
  return readEnd(frame, indexed);
}

function readFaultWord(frame: BoxdFrame, indexed: Indexed): string {
  if (frame.type !== HEAR.fault)
    throw helperFault(`The box sent a frame of type ${frame.type} in an answer.`);
  return readWord(indexed);
}

function resetError(path: string, fault: FileFault): ServiceError {
  const code = fault === "no_space" ? "box.quota" : "box.readiness";
  return new ServiceError(code, `The box could not make the directory ${JSON.stringify(path)}: ${fault}.`, {
    details: { path, fault },
  });
}
