/** Turns the contents of a request into the input of a run: attachments get references, bytes go to the blob store (runs §11, box §7.2). */
import { displayName } from "../box/file-name.js";
import { decodeBase64 } from "../box/measure-base64.js";
import type { Attachment, AttachmentOutcome, AttachmentSource } from "../domain/attachment.js";
import { ServiceError } from "../domain/errors.js";
import type { ContentItem, RunInput } from "../domain/event.js";
import type { FileId } from "../domain/ids.js";
import type { BlobStore } from "../ports/blob-store.js";
import type { FileStore } from "../ports/file-store.js";
import type { CallOptions } from "../ports/options.js";
import { SNIFFED_BYTES, type SniffMimeType } from "../ports/sniff-mime-type.js";
import type { IncomingContent } from "./run-request.js";
import { findSameFile, type SeenFile } from "./same-file.js";

export interface PreparedInput {
  readonly input: RunInput;
  readonly outcomes: readonly AttachmentOutcome[];
  readonly sources: readonly AttachmentSource[];
}

export interface GivenInput {
  readonly tenant: string;
  readonly text: string | null;
  readonly contents: readonly IncomingContent[];
  readonly messageChain?: readonly IncomingContent[] | undefined;
}

export interface PrepareDeps {
  readonly blobs: BlobStore;
  readonly files: FileStore;
  readonly sniffMimeType: SniffMimeType;
  /** Bytes of one attachment (box §7.3). */
  readonly maxFileBytes: number;
}

/** What clients send when they know no type. */
const UNKNOWN_TYPE = "application/octet-stream";

type IncomingAttachment = Extract<IncomingContent, { type: "attachment" }>;

/** One file, and all that it was seen as. */
interface Entry {
  readonly item: IncomingAttachment;
  readonly seen: readonly SeenFile[];
  readonly stored: StoredAttachment;
}

/** @throws ServiceError `file.not_found` when a `file_id` is not one of the tenant */
export async function prepareInput(
  deps: PrepareDeps,
  { tenant, text, contents: given, messageChain = [] }: GivenInput,
  options: CallOptions,
): Promise<PreparedInput> {
  const contents: ContentItem[] = [];
  const entries: Entry[] = [];
  for (const { item, isInChain } of inOrder(text, given, messageChain)) {
    if (item.type === "text") {
      contents.push({ type: "text", text: item.text });
      continue;
    }
    const stored = await tellType(deps, await storeAttachment(deps, tenant, item), options);
    const file = seenAs(item, stored, isInChain);
    const index = findSameFile(
      entries.map(({ seen }) => seen),
      file,
    );
    const same = entries[index];
    if (same !== undefined) {
      entries[index] = merge(same, file, stored);
      continue;
    }
    contents.push({ type: "attachment", reference: referenceOf(entries.length) });
    entries.push({ item, seen: [file], stored });
  }
  return {
    input: { text, contents, attachments: entries.map(describe) },
    outcomes: entries.map(firstOutcome),
    sources: entries.map(({ stored }) => stored.source),
  };
}

/** The chain says in its own way what text and contents say; its words count only where they say nothing. */
function inOrder(
  text: string | null,
  contents: readonly IncomingContent[],
  chain: readonly IncomingContent[],
): readonly { readonly item: IncomingContent; readonly isInChain: boolean }[] {
  const isSilent = text === null && contents.every(({ type }) => type !== "text");
  return [
    ...contents.map((item) => ({ item, isInChain: false })),
    ...chain.filter(({ type }) => type !== "text" || isSilent).map((item) => ({ item, isInChain: true })),
  ];
}

function referenceOf(index: number): string {
  return `attachment-${index}`;
}

function seenAs(item: IncomingAttachment, stored: StoredAttachment, isInChain: boolean): SeenFile {
  const { source } = item;
  const kind = source.kind === "url" || source.kind === "base64" ? source.kind : "upload";
  return {
    type: item.kind,
    source: isInChain ? "message_chain" : kind,
    id: source.kind === "file" ? source.fileId : null,
    url: source.kind === "url" ? source.url : null,
    sha256: stored.source.kind === "blob" ? stored.source.sha256 : null,
  };
}

/** Of two views of a file the one whose content is at hand counts; what it does not say the other one does. */
function merge(entry: Entry, file: SeenFile, stored: StoredAttachment): Entry {
  const isBetter = entry.stored.source.kind !== "blob" && stored.source.kind === "blob";
  const [kept, other] = isBetter ? [stored, entry.stored] : [entry.stored, stored];
  return {
    ...entry,
    seen: [...entry.seen, file],
    stored: {
      source: kept.source,
      name: kept.name ?? other.name,
      mimeType: kept.mimeType ?? other.mimeType,
      sizeBytes: kept.sizeBytes ?? other.sizeBytes,
    },
  };
}

interface StoredAttachment {
  readonly source: AttachmentSource;
  readonly name: string | null;
  readonly mimeType: string | null;
  readonly sizeBytes: number | null;
}

async function storeAttachment(
  deps: PrepareDeps,
  tenant: string,
  item: IncomingAttachment,
): Promise<StoredAttachment> {
  const { source, name, mimeType } = item;
  switch (source.kind) {
    case "url":
      return { name, mimeType, source: { kind: "url", url: source.url }, sizeBytes: null };
    case "blob":
      return { name, mimeType, source, sizeBytes: source.sizeBytes };
    case "file":
      return useFile(deps, { tenant, fileId: source.fileId, item });
    case "base64":
      return storeBase64(deps, source.data, item);
    default:
      return source satisfies never;
  }
}

/** The declared type is a hint; where it says nothing, the bytes are asked. */
async function tellType(
  deps: PrepareDeps,
  stored: StoredAttachment,
  options: CallOptions,
): Promise<StoredAttachment> {
  const { source, mimeType } = stored;
  if (source.kind !== "blob" || (mimeType !== null && mimeType !== UNKNOWN_TYPE)) return stored;
  const parts: Uint8Array[] = [];
  const range = { start: 0, end: Math.min(source.sizeBytes, SNIFFED_BYTES) - 1 };
  if (range.end >= 0)
    for await (const part of deps.blobs.read(source.sha256, range, options)) parts.push(part);
  return { ...stored, mimeType: await deps.sniffMimeType(stored.name ?? "", Buffer.concat(parts)) };
}

async function useFile(
  deps: PrepareDeps,
  { tenant, fileId, item }: { readonly tenant: string; readonly fileId: FileId; item: IncomingAttachment },
): Promise<StoredAttachment> {
  const file = await deps.files.get(tenant, fileId);
  if (file === null)
    throw new ServiceError("file.not_found", `There is no file "${fileId.slice(0, 100)}".`, {
      param: "input.contents",
      hint: "Upload it with POST /v1/files and use the id of the answer.",
    });
  const { sha256, sizeBytes } = file;
  return {
    name: item.name ?? file.name,
    mimeType: item.mimeType ?? file.mimeType,
    source: { kind: "blob", sha256, sizeBytes },
    sizeBytes,
  };
}

async function storeBase64(
  deps: PrepareDeps,
  data: string,
  { name, mimeType }: IncomingAttachment,
): Promise<StoredAttachment> {
  const decoded = decodeBase64(data, deps.maxFileBytes);
  if (!decoded.ok) {
    const { reason, sizeBytes } = decoded;
    return { name, mimeType, source: { kind: "refused", reason, sizeBytes }, sizeBytes };
  }
  await using staging = await deps.blobs.stage();
  await staging.write(decoded.bytes);
  const blob = await staging.commit();
  const { sizeBytes } = blob;
  return { name, mimeType: mimeType ?? decoded.mimeType, source: { kind: "blob", ...blob }, sizeBytes };
}

function describe({ item, seen, stored }: Entry, index: number): Attachment {
  return {
    reference: referenceOf(index),
    type: item.kind,
    source: seen[0]?.source ?? "upload",
    url: seen.find(({ url }) => url !== null)?.url ?? null,
    id: seen.find(({ id }) => id !== null)?.id ?? null,
    name: stored.name,
    mime_type: stored.mimeType,
    size: stored.sizeBytes,
    path: null,
  };
}

function firstOutcome({ item, stored }: Entry, index: number): AttachmentOutcome {
  const { source } = stored;
  return {
    index,
    name: displayName(stored.name, item.kind, index),
    path: null,
    bytes: stored.sizeBytes,
    mime_type: stored.mimeType,
    state: source.kind === "refused" ? "refused" : "pending",
    reason: source.kind === "refused" ? source.reason : null,
  };
}
