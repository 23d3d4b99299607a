/** Checks, frame by frame, that a read gives what was asked for: the host counts, the box is not believed (security §7). */
import type { FileEntry, FileFault } from "../../domain/box.js";
import { normalPath } from "../../domain/workspace-target.js";
import type { FileStreamEvent, ReadRequest } from "../../ports/box-handle.js";
import { type Indexed, readEntry, readIndex, readWord, toFileFault } from "./answers.js";
import { type BoxdFrame, helperFault } from "./frame-codec.js";
import { HEAR } from "./protocol.js";

export class ReadProgress {
  readonly #requests: readonly ReadRequest[];
  readonly #firstIndex: number;
  #index = 0;
  #entry: FileEntry | null = null;
  #leftBytes = 0;

  /** @param firstIndex what the first of these files is called in the events */
  constructor(requests: readonly ReadRequest[], firstIndex: number) {
    this.#requests = requests;
    this.#firstIndex = firstIndex;
  }

  get isComplete(): boolean {
    return this.#index === this.#requests.length;
  }

  /** @throws ServiceError when the frame does not belong here */
  take(frame: BoxdFrame): FileStreamEvent {
    const indexed = readIndex(frame);
    const request = this.#requests[this.#index];
    if (request === undefined || indexed.index !== this.#index)
      throw helperFault(`The box sent file ${indexed.index} where file ${this.#index} was due.`);
    switch (frame.type) {
      case HEAR.entry:
        return this.#begin(request, indexed);
      case HEAR.bytes:
        return this.#count(indexed);
      case HEAR.finished:
        return this.#finish(indexed);
      case HEAR.fault:
        return this.#fail(toFileFault(readWord(indexed)));
      default:
        throw helperFault(`The box sent a frame of type ${frame.type} while a file was read.`);
    }
  }

  #begin(request: ReadRequest, { reader }: Indexed): FileStreamEvent {
    if (this.#entry !== null) throw helperFault("The box described a file twice.");
    this.#entry = readEntry(normalPath(request.path), reader);
    reader.end();
    this.#leftBytes = Math.min(request.length, Math.max(0, this.#entry.sizeBytes - request.offset));
    return { type: "entry", index: this.#event, entry: this.#entry };
  }

  #count({ reader }: Indexed): FileStreamEvent {
    const bytes = reader.rest();
    this.#leftBytes -= bytes.length;
    if (this.#entry === null || this.#leftBytes < 0)
      throw helperFault("The box sent more bytes than the file has.");
    return { type: "bytes", index: this.#event, bytes };
  }

  #finish({ reader }: Indexed): FileStreamEvent {
    reader.end();
    if (this.#entry === null) throw helperFault("The box ended a file that it had not described.");
    return this.#leftBytes === 0 ? this.#close({ type: "end", index: this.#event }) : this.#fail("changed");
  }

  #fail(fault: FileFault): FileStreamEvent {
    return this.#close({ type: "fault", index: this.#event, fault });
  }

  #close(event: FileStreamEvent): FileStreamEvent {
    this.#index += 1;
    this.#entry = null;
    this.#leftBytes = 0;
    return event;
  }

  get #event(): number {
    return this.#firstIndex + this.#index;
  }
}
