/** Puts a run's attachments into its inbox: each succeeds or fails by itself (box §7). */
import type { Attachment, AttachmentOutcome, AttachmentSource } from "../domain/attachment.js";
import { ServiceError } from "../domain/errors.js";
import { isWithin, normaliseWorkspacePath } from "../domain/workspace-path.js";
import type { BlobStore } from "../ports/blob-store.js";
import type { BoxFiles, FileFault, WriteAnswer } from "../ports/box-handle.js";
import type { CallOptions } from "../ports/options.js";
import type { OutboundFetch } from "../ports/outbound-fetch.js";
import { type FetchLimits, fetchAttachments } from "./fetch-attachments.js";
import { displayName, inboundName } from "./file-name.js";

export interface ImportLimits extends FetchLimits {
  /** Files and bytes of one run. */
  readonly maxFiles: number;
  readonly maxTotalBytes: number;
}

export interface ImportDeps {
  readonly files: BoxFiles;
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
  /** Name and type that the fetched answer gave, where the attachment says none. */
  readonly fetched: { readonly name: string | null; readonly mimeType: string | null };
}

interface Ready extends Item {
  readonly sha256: string;
  readonly sizeBytes: number;
}

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
  const chosen = chooseReferences(request);
  const outcomes = request.attachments.map((attachment, index) => firstOutcome(attachment, index, request));
  const isOpen = ({ index }: { readonly index: number }): boolean => outcomes[index]?.state === "pending";
  const open = toItems(request).filter((item) => chosen.has(item.attachment.reference) && isOpen(item));
  const record = (outcome: AttachmentOutcome): void => void outcomes.splice(outcome.index, 1, outcome);

  for (const kept of await findKept(deps.files, open, options)) record(kept);
  const fetched = await fetchSources(deps, { items: open.filter(isOpen), limits: request.limits }, options);
  const ready: Ready[] = [];
  for (const item of fetched) {
    const checked = await checkItem(deps.blobs, { item, ready, limits: request.limits });
    if ("state" in checked) record(checked);
    else ready.push(checked);
  }
  for (const written of await writeFiles(deps, { inbox: request.inbox, ready }, options)) record(written);
  const blobs = new Map(fetched.map(({ index, source }) => [index, source.kind === "blob" ? source : null]));
  const sources = request.sources.map((source, index) => blobs.get(index) ?? source);
  return { outcomes, sources };
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
    fetched: { name: null, mimeType: null },
  }));
}

/** Files of an attempt before this one that are still there are used where they are (box §7.8). */
async function findKept(
  files: BoxFiles,
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

async function fetchSources(
  deps: ImportDeps,
  of: { readonly items: readonly Item[]; readonly limits: ImportLimits },
  options: CallOptions,
): Promise<readonly Item[]> {
  const wanted = of.items.flatMap((item) =>
    item.source.kind === "url" && item.index < of.limits.maxFiles
      ? [{ index: item.index, url: item.source.url }]
      : [],
  );
  const fetched = await fetchAttachments(deps, { urls: wanted, limits: of.limits }, options);
  return of.items.map((item) => ({ ...item, ...fetched.get(item.index) }));
}

/** Every limit is checked here, before a byte of the file goes to the box. */
async function checkItem(
  blobs: BlobStore,
  of: { readonly item: Item; readonly ready: readonly Ready[]; readonly limits: ImportLimits },
): Promise<Ready | AttachmentOutcome> {
  const { item, ready, limits } = of;
  const { source, index } = item;
  if (index >= limits.maxFiles)
    return refuse(item, `It is file number ${index + 1}; the limit is ${limits.maxFiles} files per run.`);
  if (source.kind === "refused") return refuse(item, source.reason, source.sizeBytes);
  const sizeBytes = source.kind === "blob" ? await blobs.size(source.sha256) : null;
  if (source.kind !== "blob" || sizeBytes === null) return refuse(item, "Its bytes are no longer kept.");
  if (sizeBytes > limits.maxFileBytes)
    return refuse(
      item,
      `It has ${sizeBytes} bytes; the limit is ${limits.maxFileBytes} bytes per file.`,
      sizeBytes,
    );
  const total = ready.reduce((sum, other) => sum + other.sizeBytes, sizeBytes);
  if (total > limits.maxTotalBytes)
    return refuse(
      item,
      `With its ${sizeBytes} bytes the run's files have ${total} bytes; the limit is ${limits.maxTotalBytes} bytes per run.`,
      sizeBytes,
    );
  return { ...item, sha256: source.sha256, sizeBytes };
}

function describeItem(item: Item): Pick<AttachmentOutcome, "index" | "name" | "mime_type"> {
  const { index, attachment, fetched, before } = item;
  return {
    index,
    name: displayName(attachment.name ?? fetched.name, attachment.type, index),
    mime_type: attachment.mime_type ?? fetched.mimeType ?? before?.mime_type ?? null,
  };
}

function refuse(
  item: Item,
  reason: string,
  sizeBytes: number | null = item.attachment.size,
): AttachmentOutcome {
  return { ...describeItem(item), path: null, bytes: sizeBytes, state: "refused", reason };
}

async function writeFiles(
  deps: ImportDeps,
  of: { readonly inbox: string; readonly ready: readonly Ready[] },
  options: CallOptions,
): Promise<readonly AttachmentOutcome[]> {
  if (of.ready.length === 0) return [];
  const unreadable = new Set<number>();
  const files = of.ready.map((item) => ({ item, path: `${of.inbox}/${item.index}/${inboxName(item)}` }));
  const requests = files.map(({ item, path }) => ({
    path,
    mode: "create" as const,
    sizeBytes: item.sizeBytes,
    content: readBlob(deps.blobs, { item, unreadable }, options),
  }));
  const answers = await deps.files.write(requests, options);
  return files.map(({ item, path }, position): AttachmentOutcome => {
    const answer = answers[position];
    if (unreadable.has(item.index)) return refuse(item, "Its bytes could not be read.", item.sizeBytes);
    if (answer?.ok !== true) return refuse(item, describeFault(answer), item.sizeBytes);
    return imported(item, path);
  });
}

function imported(item: Ready, path: string): AttachmentOutcome {
  return { ...describeItem(item), path, bytes: item.sizeBytes, state: "imported", reason: null };
}

function inboxName({ attachment, fetched, index }: Item): string {
  return inboundName(attachment.name ?? fetched.name, attachment.type, index);
}

/** A blob that cannot be read ends its own file early, which leaves nothing of it in the box; the others go on. */
async function* readBlob(
  blobs: BlobStore,
  of: { readonly item: Ready; readonly unreadable: Set<number> },
  options: CallOptions,
): AsyncIterable<Uint8Array> {
  try {
    yield* blobs.read(of.item.sha256, null, options);
  } catch {
    options.signal.throwIfAborted();
    of.unreadable.add(of.item.index);
  }
}

const FAULT_REASONS: Partial<Record<FileFault, string>> = {
  exists: "A file of that name is there already.",
  no_space: "The workspace has no space left.",
  denied: "The workspace of this box cannot be written.",
};

function describeFault(answer: WriteAnswer | undefined): string {
  const known = answer?.ok === false ? FAULT_REASONS[answer.fault] : undefined;
  return known ?? "The box did not take it.";
}
