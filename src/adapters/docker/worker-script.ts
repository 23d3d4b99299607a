/** The in-box worker's source, read when a box first needs it and kept. */
import { readFile } from "node:fs/promises";

export type WorkerKind = "files" | "commands";

/** The longest single argument that the kernel takes. */
const MAX_ARGUMENT_BYTES = 131_071;

export class WorkerScripts {
  readonly #sources = new Map<WorkerKind, Promise<string>>();

  /** The program of one kind of worker: the common part, then the part that knows the operations. */
  async source(kind: WorkerKind): Promise<string> {
    const known = this.#sources.get(kind);
    if (known !== undefined) return known;
    const source = readSource(kind);
    this.#sources.set(kind, source);
    return source;
  }
}

async function readSource(kind: WorkerKind): Promise<string> {
  const parts = await Promise.all(
    ["channel", kind].map(async (part) => readFile(new URL(`worker-${part}.py`, import.meta.url), "utf8")),
  );
  const source = parts.join("\n");
  const sizeBytes = Buffer.byteLength(source);
  if (sizeBytes > MAX_ARGUMENT_BYTES)
    throw new Error(`The ${kind} worker has ${sizeBytes} bytes; an argument holds ${MAX_ARGUMENT_BYTES}.`);
  return source;
}
