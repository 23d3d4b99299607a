/** Checks, frame by frame, that a read gives what was asked for: the host counts, the box is not believed (security §7). */
import type { FileEntry, FileFault } from "../../domain/box.js";
import { normalPath } from "../../domain/workspace-target.js";
import type { FileStreamEvent, ReadRequest } from "../../ports/box-handle.js";
import { brokenFrame, FROM_WORKER, type WorkerFrame } from "./frame-codec.js";
import { fileFaultSchema, readEntry, readPayload } from "./worker-wire.js";

export class ReadProgress {
  readonly #requests: readonly ReadRequest[];
  #index = 0;
  #entry: FileEntry | null = null;
  #leftBytes = 0;

  constructor(requests: readonly ReadRequest[]) {
    this.#requests = requests;
  }

  get isComplete(): boolean {
    return this.#index === this.#requests.length;
  }

  /** @throws ServiceError when the frame does not belong here */
  take(frame: WorkerFrame): FileStreamEvent {
    const request = this.#requests[this.#index];
    if (request === undefined || frame.index !== this.#index)
      throw brokenFrame(`The box sent file ${frame.index} where file ${this.#index} was due.`);
    switch (frame.type) {
      case FROM_WORKER.entry:
        return this.#begin(request, frame);
      case FROM_WORKER.bytes:
        return this.#count(frame);
      case FROM_WORKER.finished:
        return this.#finish();
      case FROM_WORKER.fault:
        return this.#fail(readPayload(fileFaultSchema, frame));
      default:
        throw brokenFrame(`The box sent a frame of type ${frame.type} while a file was read.`);
    }
  }

  #begin(request: ReadRequest, frame: WorkerFrame): FileStreamEvent {
    if (this.#entry !== null) throw brokenFrame("The box described a file twice.");
    this.#entry = readEntry(normalPath(request.path), frame);
    this.#leftBytes = Math.min(request.length, Math.max(0, this.#entry.sizeBytes - request.offset));
    return { type: "entry", index: this.#index, entry: this.#entry };
  }

  #count(frame: WorkerFrame): FileStreamEvent {
    this.#leftBytes -= frame.payload.length;
    if (this.#entry === null || this.#leftBytes < 0)
      throw brokenFrame("The box sent more bytes than the file has.");
    return { type: "bytes", index: this.#index, bytes: frame.payload };
  }

  #finish(): FileStreamEvent {
    if (this.#entry === null) throw brokenFrame("The box ended a file that it had not described.");
    return this.#leftBytes === 0 ? this.#close({ type: "end", index: this.#index }) : this.#fail("changed");
  }

  #fail(fault: FileFault): FileStreamEvent {
    return this.#close({ type: "fault", index: this.#index, fault });
  }

  #close(event: FileStreamEvent): FileStreamEvent {
    this.#index += 1;
    this.#entry = null;
    this.#leftBytes = 0;
    return event;
  }
}
