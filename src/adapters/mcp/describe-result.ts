/** What an MCP server answers, as a tool's outcome: text as text, binary parts into the box or named only, errors as errors. */
import { createHash } from "node:crypto";
import { z } from "zod";
import { TOOL_RESULTS_DIR } from "../../domain/box.js";
import type { ToolOutcome } from "../../domain/tool.js";
import type { BoxFiles } from "../../ports/box-handle.js";
import type { CallOptions } from "../../ports/options.js";
import type { ToolBox } from "../../ports/tool.js";
import { MAX_ELEMENTS, MAX_KEPT_BYTES, MAX_KEPT_FILES, MAX_RESULT_CHARS } from "./limits.js";

const embeddedSchema = z.object({
  uri: z.string().catch(""),
  mimeType: z.string().optional().catch(undefined),
  text: z.string().optional(),
  blob: z.string().optional(),
});
const elementSchema = z.union([
  z.object({ type: z.literal("text"), text: z.string() }),
  z.object({ type: z.enum(["image", "audio"]), data: z.string(), mimeType: z.string().catch("") }),
  z.object({ type: z.literal("resource"), resource: embeddedSchema }),
  z.object({ type: z.literal("resource_link"), uri: z.string(), name: z.string().catch("") }),
]);
type Element = z.infer<typeof elementSchema>;

const resultSchema = z.object({
  content: z.array(z.unknown()).catch([]),
  structuredContent: z.record(z.string(), z.unknown()).optional().catch(undefined),
  isError: z.boolean().optional().catch(undefined),
});

/** The answer to `resources/read`: the same parts under another name. */
const contentsSchema = z.object({ contents: z.array(z.unknown()).catch([]) });

export interface ResultOf {
  readonly callId: string;
  /** Where binary parts are kept; null = nowhere. */
  readonly box: ToolBox | null;
}

/** Of `tools/call`. */
export async function describeToolResult(
  answer: unknown,
  of: ResultOf,
  options: CallOptions,
): Promise<ToolOutcome> {
  const { content, structuredContent, isError } = resultSchema.parse(answer);
  const text = await describeElements(content, of, options);
  if (isError === true) return { ok: false, error: text === "" ? "The tool failed and said nothing." : text };
  if (text !== "" || structuredContent === undefined) return { ok: true, result: text };
  const isShort = JSON.stringify(structuredContent).length <= MAX_RESULT_CHARS;
  return isShort
    ? { ok: true, result: structuredContent }
    : { ok: true, result: cut(JSON.stringify(structuredContent)) };
}

/** Of `resources/read`. */
export async function describeContents(
  answer: unknown,
  of: ResultOf,
  options: CallOptions,
): Promise<ToolOutcome> {
  const { contents } = contentsSchema.parse(answer);
  const elements = contents.map((resource) => ({ type: "resource", resource }));
  return { ok: true, result: await describeElements(elements, of, options) };
}

async function describeElements(
  content: readonly unknown[],
  of: ResultOf,
  options: CallOptions,
): Promise<string> {
  const keep = new KeptParts(of);
  const parts: string[] = [];
  for (const value of content.slice(0, MAX_ELEMENTS)) {
    const parsed = elementSchema.safeParse(value);
    parts.push(parsed.success ? await describe(parsed.data, keep, options) : "[a part of an unknown kind]");
  }
  if (content.length > MAX_ELEMENTS)
    parts.push(`[${content.length - MAX_ELEMENTS} more parts are left out; ${MAX_ELEMENTS} are the limit]`);
  return cut(parts.join("\n"));
}

async function describe(element: Element, keep: KeptParts, options: CallOptions): Promise<string> {
  switch (element.type) {
    case "text":
      return element.text;
    case "resource_link":
      return `[resource ${element.name} ${element.uri}]`;
    case "resource": {
      const { uri, mimeType = "", text, blob } = element.resource;
      if (blob === undefined) return `[resource ${uri}]\n${text ?? ""}`;
      return `[resource ${uri}] ${await keep.add({ kind: "file", data: blob, mimeType }, options)}`;
    }
    default:
      return keep.add({ kind: element.type, data: element.data, mimeType: element.mimeType }, options);
  }
}

interface BinaryPart {
  readonly kind: "image" | "audio" | "file";
  readonly data: string;
  readonly mimeType: string;
}

/** Binary parts of one result: no model reads base64, so they become files of the box, or a note of what they were. */
class KeptParts {
  readonly #of: ResultOf;
  #count = 0;

  constructor(of: ResultOf) {
    this.#of = of;
  }

  async add({ kind, data, mimeType }: BinaryPart, options: CallOptions): Promise<string> {
    const what = `${kind}${mimeType === "" ? "" : ` ${mimeType.slice(0, 100)}`}`;
    if (data.length > (MAX_KEPT_BYTES * 4) / 3 + 4)
      return `[${what}, not kept: larger than ${MAX_KEPT_BYTES} bytes]`;
    const bytes = Buffer.from(data, "base64");
    const { box, callId } = this.#of;
    const note = `${what}, ${bytes.length} bytes`;
    if (box === null || box.settings.workspaceMode !== "rw")
      return `[${note}, not kept: there is no box to keep it in]`;
    if (this.#count >= MAX_KEPT_FILES)
      return `[${note}, not kept: ${MAX_KEPT_FILES} files of one result are the limit]`;
    this.#count += 1;
    const path = `${TOOL_RESULTS_DIR}/${fileStem(callId)}-${this.#count}${extension(mimeType)}`;
    return (await saved(box.handle.files, { path, bytes }, options))
      ? `[${note}, kept as ${path}]`
      : `[${note}, not kept: the box did not take it]`;
  }
}

async function saved(
  files: BoxFiles,
  { path, bytes }: { readonly path: string; readonly bytes: Uint8Array },
  options: CallOptions,
): Promise<boolean> {
  const content = async function* (): AsyncGenerator<Uint8Array, void> {
    yield bytes;
  };
  try {
    const request = { path, mode: "overwrite", sizeBytes: bytes.length, content: content() } as const;
    const [answer] = await files.write([request], options);
    return answer?.ok === true;
  } catch {
    options.signal.throwIfAborted();
    return false;
  }
}

function fileStem(callId: string): string {
  return `mcp-${createHash("sha256").update(callId).digest("hex").slice(0, 24)}`;
}

const EXTENSIONS: ReadonlyMap<string, string> = new Map([
  ["image/png", ".png"],
  ["image/jpeg", ".jpg"],
  ["image/gif", ".gif"],
  ["image/webp", ".webp"],
  ["image/svg+xml", ".svg"],
  ["audio/mpeg", ".mp3"],
  ["audio/wav", ".wav"],
  ["application/pdf", ".pdf"],
]);

function extension(mimeType: string): string {
  return EXTENSIONS.get(mimeType) ?? ".bin";
}

function cut(text: string): string {
  if (text.length <= MAX_RESULT_CHARS) return text;
  return `${text.slice(0, MAX_RESULT_CHARS).replace(/[\uD800-\uDBFF]$/u, "")}\n[cut here: ${text.length} characters came, and ${MAX_RESULT_CHARS} are the limit]`;
}
