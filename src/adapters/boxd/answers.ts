/** What the helper answers, read from its payloads. Pure. The box is not believed: texts are bounded, names checked, the path is ours. */
import {
  FILE_FAULTS,
  type FileEntry,
  type FileFault,
  type FileKind,
  PATH_FAULTS,
  type PathFault,
} from "../../domain/box.js";
import { ServiceError } from "../../domain/errors.js";
import type { BoxCounters, CommandExit } from "../../domain/exec-outcome.js";
import { FieldReader } from "./fields.js";
import { type BoxdFrame, helperFault } from "./frame-codec.js";
import { DONE, PROTOCOL } from "./protocol.js";

const MAX_VERSION_CHARS = 200;
const MAX_WORD_BYTES = 64;
const MAX_PATH_BYTES = 8192;
const MAX_REASON_BYTES = 1024;

/** How a helper introduces itself. */
export interface Hello {
  readonly version: string;
  /** Bytes of contents that may be on their way to one request, headers included. */
  readonly windowBytes: number;
  /** Bits of what it can do. */
  readonly features: number;
}

/** @throws ServiceError for another protocol, or a window that no contents pass */
export function readHello(frame: BoxdFrame): Hello {
  const reader = new FieldReader(frame.payload);
  const protocol = reader.u16();
  if (protocol !== PROTOCOL)
    throw helperFault(`The helper speaks protocol ${protocol}; ${PROTOCOL} is wanted.`);
  const features = reader.u32();
  const payloadBytes = reader.u32();
  const requestBytes = reader.u32();
  const windowBytes = reader.u32();
  reader.u16();
  reader.u16();
  reader.u32();
  reader.u32();
  const version = reader.text(MAX_WORD_BYTES);
  reader.end();
  if (payloadBytes < 65_536 || requestBytes < 1_048_576 || windowBytes < 131_072)
    throw helperFault("The helper takes less than its protocol says.");
  return { version, windowBytes, features };
}

/** Why the helper breaks off, for the log. */
export function readError(frame: BoxdFrame): string {
  return new FieldReader(frame.payload).text(MAX_REASON_BYTES);
}

/** Where the relay listens. */
export function readPort(frame: BoxdFrame): number {
  const reader = new FieldReader(frame.payload);
  const port = reader.u16();
  reader.end();
  if (port === 0) throw helperFault("The box relays a port that does not exist.");
  return port;
}

export function readCredit(frame: BoxdFrame): number {
  const reader = new FieldReader(frame.payload);
  const bytes = reader.u32();
  reader.end();
  return bytes;
}

export function readDone(frame: BoxdFrame): (typeof DONE)[keyof typeof DONE] {
  const reader = new FieldReader(frame.payload);
  const status = reader.u8();
  reader.end();
  const known = Object.values(DONE).find((value) => value === status);
  if (known === undefined) throw helperFault(`The box ended a request with status ${status}.`);
  return known;
}

export interface Indexed {
  readonly index: number;
  /** What follows the index. */
  readonly reader: FieldReader;
}

export function readIndex(frame: BoxdFrame): Indexed {
  const reader = new FieldReader(frame.payload);
  return { index: reader.u32(), reader };
}

export function readWord({ reader }: Indexed): string {
  const word = reader.text(MAX_WORD_BYTES);
  reader.end();
  return word;
}

/** @throws ServiceError `box.readiness` when the box could not even try, a fault of the helper for a word nobody knows */
export function toFileFault(word: string): FileFault {
  const fault = FILE_FAULTS.find((known) => known === word);
  if (fault !== undefined) return fault;
  throw word === "busy" || word === "unsupported" ? busyBox(word) : unknownWord(word);
}

export function toPathFault(word: string): PathFault {
  const fault = PATH_FAULTS.find((known) => known === word);
  if (fault !== undefined) return fault;
  throw word === "busy" ? busyBox(word) : unknownWord(word);
}

/** The error of a request that the box has no means for. */
export function busyBox(word: string): ServiceError {
  return new ServiceError("box.readiness", `The box could not take the request: ${word}.`, {
    hint: "The box may be full of processes or out of memory: try again.",
  });
}

function unknownWord(word: string): ServiceError {
  return helperFault(`The box gave a reason that nobody knows: ${JSON.stringify(word)}.`);
}

const KINDS: readonly FileKind[] = ["file", "directory", "link", "other"];

/** The path is ours, the rest is what the box says. */
export function readEntry(path: string, reader: FieldReader): FileEntry {
  const kind = KINDS[reader.u8()];
  if (kind === undefined) throw helperFault("The box described an entry of an unknown kind.");
  const readable = reader.u8() === 1;
  const mode = reader.u16();
  const linkCount = reader.u32();
  const sizeBytes = reader.u64();
  const modifiedMs = reader.i64();
  const version = reader.text(MAX_VERSION_CHARS);
  if (mode > 0o7777) throw helperFault("The box described an entry with impossible permissions.");
  return { path, kind, sizeBytes, linkCount, mode, modifiedMs, version, readable };
}

/** Entries below a directory. @param base the directory, as it was asked for */
export function readListed(base: string, frame: BoxdFrame): FileEntry[] {
  const reader = new FieldReader(frame.payload);
  const entries: FileEntry[] = [];
  for (let count = reader.u32(); count > 0; count -= 1) {
    const below = reader.text(MAX_PATH_BYTES);
    if (!isBelow(below)) throw helperFault("The box listed a name that leads elsewhere.");
    entries.push(readEntry(`${base}/${below}`, reader));
  }
  reader.end();
  return entries;
}

function isBelow(path: string): boolean {
  return (
    !path.includes("\0") && path.split("/").every((name) => name !== "" && name !== "." && name !== "..")
  );
}

/** @returns whether the list was cut */
export function readListEnd(frame: BoxdFrame): boolean {
  const reader = new FieldReader(frame.payload);
  const truncated = reader.u8();
  reader.end();
  return truncated !== 0;
}

export function readStarted(frame: BoxdFrame): BoxCounters {
  const reader = new FieldReader(frame.payload);
  reader.u32();
  reader.i64();
  const counters = readCounters(reader);
  reader.end();
  return counters;
}

const ENDERS = ["exit", "kill", "timeout", "loss"] as const;
const ENDED = { code: 1, signal: 2 } as const;

export function readExit(frame: BoxdFrame): CommandExit {
  const reader = new FieldReader(frame.payload);
  const by = ENDERS[reader.u8()];
  const ended = reader.u8();
  const value = reader.u16();
  const leftovers = reader.u32();
  for (let time = 0; time < 5; time += 1) reader.i64();
  const counters = readCounters(reader);
  reader.u8();
  reader.end();
  if (by === undefined || ended > ENDED.signal || value > 255)
    throw helperFault("The box told an impossible exit.");
  const code = ended === ENDED.code ? value : null;
  const signal = ended === ENDED.signal ? value : null;
  return { code, signal, by, disk: null, leftovers, ...counters };
}

function readCounters(reader: FieldReader): BoxCounters {
  return { oomKills: reader.i64(), pidsRefused: reader.i64() };
}
