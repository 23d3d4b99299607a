/** Puts a run's attachments into its inbox: each succeeds or fails by itself (box §7). */

import type { Attachment, AttachmentOutcome, AttachmentSource } from "../domain/attachment.js";
import type { FileFault } from "../domain/box.js";
import { ServiceError } from "../domain/errors.js";
import { isWithin, normaliseWorkspacePath } from "../domain/workspace-path.js";
import type { BlobStore } from "../ports/blob-store.js";
import type { BoxFiles, WriteAnswer, WriteRequest } from "../ports/box-handle.js";
import type { CallOptions } from "../ports/options.js";
import type { OutboundFetch } from "../ports/outbound-fetch.js";
import { type Fetched, type FetchLimits, fetchAttachments } from "./fetch-attachments.js";
import { displayName, inboundName } from "./file-name.js";

export interface ImportLimits extends FetchLimits {
  /** Files and bytes of one run. */
  readonly maxFiles: number;
  readonly maxTotalBytes: number;
}

export interface ImportDeps {
  /** `write` by the box itself, or from outside where it can only read. */
  readonly files: Pick<BoxFiles, "stat" | "write">;
  readonly blobs: BlobStore;
  readonly outbound: OutboundFetch;
}

export interface ImportRequest {
  /** `/workspace/inbox/<run_id>`. */
  readonly inbox: string;
  readonly attachments: readonly Attachment[];
  /** Where the bytes are and what became of each so far; both in the order of `attachments`. */
  readonly sources: readonly AttachmentSource[];
  readonly outcomes: readonly AttachmentOutcome[];
  readonly limits: ImportLimits;
  /** Only these; all if not given. */
  readonly references?: readonly string[] | undefined;
}

export interface ImportAnswer {
  /** One for each attachment, in order. */
  readonly outcomes: readonly AttachmentOutcome[];
  /** As given, but what was fetched is a blob: another attempt fetches only what failed. */
  readonly sources: readonly AttachmentSource[];
}

/** One attachment on its way. */
interface Item {
  readonly index: number;
  readonly attachment: Attachment;
  readonly source: AttachmentSource;
  readonly before: AttachmentOutcome | undefined;
}

interface Settled {
  readonly item: Item;
  readonly fetched: Fetched;
}

interface Ready extends Settled {
  readonly sha256: string;
  readonly sizeBytes: number;
}

const NOT_FETCHED: Omit<Fetched, "source"> = { name: null, mimeType: null };

/**
 * Imports what is not decided yet; an attachment imported or refused before keeps its entry (box §7.1). All files go
 * into the box in one request, created exclusively, streamed from the blob store.
 * @throws ServiceError `box.validation` for an unknown reference or one twice; of a lost engine; the signal's reason
 */
export async function importAttachments(
  deps: ImportDeps,
  request: ImportRequest,
  options: CallOptions,
): Promise<ImportAnswer> {
  const { limits } = request;
  const chosen = chooseReferences(request);
  const outcomes = request.attachments.map((attachment, index) => firstOutcome(attachment, index, request));
  const isOpen = ({ index }: { readonly index: number }): boolean => outcomes[index]?.state === "pending";
  const open = toItems(request).filter((item) => chosen.has(item.attachment.reference) && isOpen(item));
  const record = (outcome: AttachmentOutcome): void => void outcomes.splice(outcome.index, 1, outcome);

  for (const item of open) if (item.index >= limits.maxFiles) record(refuseByCount(item, limits.maxFiles));
  for (const kept of await findKept(deps.files, open.filter(isOpen), options)) record(kept);
  const settled = await fetchAttachments(deps, { items: open.filter(isOpen), limits }, options);
  const ready: Ready[] = [];
  for (const one of settled) {
    const checked = await checkItem(deps.blobs, { settled: one, ready, limits });
    if ("state" in checked) record(checked);
    else ready.push(checked);
  }
  for (const written of await writeFiles(deps, { inbox: request.inbox, ready }, options)) record(written);
  const blobs = new Map(
    settled.map(({ item, fetched }) => [item.index, fetched.source.kind === "blob" ? fetched.source : null]),
  );
  return { outcomes, sources: request.sources.map((source, index) => blobs.get(index) ?? source) };
}

function chooseReferences({ attachments, references }: ImportRequest): ReadonlySet<string> {
  const known = new Set(attachments.map(({ reference }) => reference));
  const chosen = new Set<string>();
  for (const reference of references ?? known) {
    if (!known.has(reference))
      throw new ServiceError("box.validation", `This run has no attachment "${reference.slice(0, 100)}".`);
    if (chosen.has(reference))
      throw new ServiceError("box.validation", `The attachment "${reference}" is named twice.`);
    chosen.add(reference);
  }
  return chosen;
}

function firstOutcome(attachment: Attachment, index: number, request: ImportRequest): AttachmentOutcome {
  const pending: AttachmentOutcome = {
    index,
    name: displayName(attachment.name, attachment.type, index),
    path: null,
    bytes: attachment.size,
    mime_type: attachment.mime_type,
    state: "pending",
    reason: null,
  };
  return request.outcomes[index] ?? pending;
}

function toItems({ attachments, sources, outcomes }: ImportRequest): Item[] {
  return attachments.map((attachment, index) => ({
    index,
    attachment,
    source: sources[index] ?? { kind: "refused", reason: "Its source is not known.", sizeBytes: null },
    before: outcomes[index],
  }));
}

/** Files of an attempt before this one that are still there are used where they are (box §7.8). */
async function findKept(
  files: ImportDeps["files"],
  items: readonly Item[],
  options: CallOptions,
): Promise<readonly AttachmentOutcome[]> {
  const earlier = items.flatMap(({ before }) =>
    before !== undefined && before.path !== null && isInboxPath(before.path)
      ? [{ before, path: before.path }]
      : [],
  );
  if (earlier.length === 0) return [];
  const paths = earlier.map(({ path }) => path);
  const stats = await files.stat(paths, options);
  return earlier.flatMap(({ before }, index): AttachmentOutcome[] => {
    const stat = stats[index];
    const isThere = stat !== undefined && "entry" in stat && stat.entry.kind === "file";
    return isThere ? [{ ...before, state: "imported", bytes: stat.entry.sizeBytes, reason: null }] : [];
  });
}

function isInboxPath(path: string): boolean {
  const normal = normaliseWorkspacePath(path);
  return normal.ok && normal.path === path && isWithin("/workspace/inbox", path);
}

/** Every limit is checked here, before a byte of the file goes to the box. */
async function checkItem(
  blobs: BlobStore,
  of: { readonly settled: Settled; readonly ready: readonly Ready[]; readonly limits: ImportLimits },
): Promise<Ready | AttachmentOutcome> {
  const { settled, ready, limits } = of;
  const { source } = settled.fetched;
  if (source.kind === "refused") return refuse(settled, source.reason, source.sizeBytes);
  const sizeBytes = await blobs.size(source.sha256);
  if (sizeBytes === null) return refuse(settled, "Its bytes are no longer kept.", source.sizeBytes);
  if (sizeBytes > limits.maxFileBytes)
    return refuse(
      settled,
      `It has ${sizeBytes} bytes; the limit is ${limits.maxFileBytes} bytes per file.`,
      sizeBytes,
    );
  const total = ready.reduce((sum, other) => sum + other.sizeBytes, sizeBytes);
  if (total > limits.maxTotalBytes)
    return refuse(
      settled,
      `With its ${sizeBytes} bytes the run's files have ${total} bytes; the limit is ${limits.maxTotalBytes} bytes per run.`,
      sizeBytes,
    );
  return { ...settled, sha256: source.sha256, sizeBytes };
}

type Described = Pick<AttachmentOutcome, "index" | "name" | "mime_type">;

function describeItem(item: Item, fetched: Omit<Fetched, "source">): Described {
  const { index, attachment, before } = item;
  return {
    index,
    name: displayName(attachment.name ?? fetched.name, attachment.type, index),
    mime_type: attachment.mime_type ?? fetched.mimeType ?? before?.mime_type ?? null,
  };
}

function refuse({ item, fetched }: Settled, reason: string, sizeBytes: number | null): AttachmentOutcome {
  const bytes = sizeBytes ?? item.attachment.size;
  return { ...describeItem(item, fetched), path: null, bytes, state: "refused", reason };
}

function refuseByCount(item: Item, maxFiles: number): AttachmentOutcome {
  const reason = `It is file number ${item.index + 1}; the limit is ${maxFiles} files per run.`;
  const bytes = item.attachment.size;
  return { ...describeItem(item, NOT_FETCHED), path: null, bytes, state: "refused", reason };
}

async function writeFiles(
  deps: ImportDeps,
  of: { readonly inbox: string; readonly ready: readonly Ready[] },
  options: CallOptions,
): Promise<readonly AttachmentOutcome[]> {
  if (of.ready.length === 0) return [];
  const unreadable = new Set<Ready>();
  const files = of.ready.map((ready) => ({
    ready,
    path: `${of.inbox}/${ready.item.index}/${inboxName(ready)}`,
  }));
  const requests = files.map(({ ready, path }) => ({
    path,
    mode: "create" as const,
    sizeBytes: ready.sizeBytes,
    content: readBlob(deps.blobs, { ready, unreadable }, options),
  }));
  const answers = await writeOrRefuse(deps, requests, options);
  if (typeof answers === "string") return of.ready.map((ready) => refuse(ready, answers, ready.sizeBytes));
  return files.map(({ ready, path }, position): AttachmentOutcome => {
    const answer = answers[position];
    if (unreadable.has(ready)) return refuse(ready, "Its bytes could not be read.", ready.sizeBytes);
    if (answer?.ok !== true) return refuse(ready, describeFault(answer), ready.sizeBytes);
    return imported(ready, path);
  });
}

/** @returns why nothing was written, where others use the box that would have to stand still for it */
async function writeOrRefuse(
  deps: ImportDeps,
  requests: readonly WriteRequest[],
  options: CallOptions,
): Promise<readonly WriteAnswer[] | string> {
  try {
    return await deps.files.write(requests, options);
  } catch (error) {
    if (error instanceof ServiceError && error.code === "box.conflict") return error.message;
    throw error;
  }
}

function imported({ item, fetched, sizeBytes }: Ready, path: string): AttachmentOutcome {
  return { ...describeItem(item, fetched), path, bytes: sizeBytes, state: "imported", reason: null };
}

function inboxName({ item, fetched }: Settled): string {
  return inboundName(item.attachment.name ?? fetched.name, item.attachment.type, item.index);
}

/** A blob that cannot be read ends its own file early, which leaves nothing of it in the box; the others go on. */
async function* readBlob(
  blobs: BlobStore,
  of: { readonly ready: Ready; readonly unreadable: Set<Ready> },
  options: CallOptions,
): AsyncIterable<Uint8Array> {
  try {
    yield* blobs.read(of.ready.sha256, null, options);
  } catch {
    options.signal.throwIfAborted();
    of.unreadable.add(of.ready);
  }
}

const FAULT_REASONS: Partial<Record<FileFault, string>> = {
  exists: "A file of that name is there already.",
  no_space: "The workspace has no space left.",
  denied: "The workspace of this box cannot be written.",
};

function describeFault(answer: WriteAnswer | undefined): string {
  const known = answer?.ok === false ? (answer.space ?? FAULT_REASONS[answer.fault]) : undefined;
  return known ?? "The box did not take it.";
}
