/** Grants over HTTP: one GET for one grant of one tenant (box §16.3). */
import { ServiceError } from "../../domain/errors.js";
import { type GrantAnswer, type GrantName, grantAnswerSchema } from "../../domain/grant.js";
import type { GrantSource } from "../../ports/grant-source.js";
import type { CallOptions } from "../../ports/options.js";

const MAX_ANSWER_BYTES = 64 * 1024;

export class HttpGrantSource implements GrantSource {
  readonly #settings: { readonly url: string; readonly token: string | null };

  /** @param settings `url` = where the id of the grant is appended to, as a path component */
  constructor(settings: { readonly url: string; readonly token: string | null }) {
    this.#settings = settings;
  }

  async ask({ tenant, grantId }: GrantName, { signal }: CallOptions): Promise<GrantAnswer> {
    const { url, token } = this.#settings;
    const address = new URL(`${url.replace(/\/+$/, "")}/${encodeURIComponent(grantId)}`);
    address.searchParams.set("tenant", tenant);
    const headers = {
      accept: "application/json",
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    };
    let text: string;
    try {
      const response = await fetch(address, { headers, signal, redirect: "error" });
      if (response.status !== 200) {
        await response.body?.cancel();
        throw failed(`it answered ${response.status}`);
      }
      text = await readAtMost(response, MAX_ANSWER_BYTES);
    } catch (error) {
      throw error instanceof ServiceError ? error : failed("it does not answer", error);
    }
    return readAnswer(text);
  }
}

async function readAtMost(response: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const body: AsyncIterable<Uint8Array> = response.body ?? new ReadableStream<Uint8Array>();
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw failed(`its answer is longer than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function readAnswer(text: string): GrantAnswer {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw failed("its answer is no JSON", error);
  }
  const read = grantAnswerSchema.safeParse(value);
  if (read.success) return read.data;
  const fields = [...new Set(read.error.issues.map(({ path }) => path.join(".") || "the whole"))];
  throw failed(`its answer has faults in: ${fields.join(", ")}`);
}

function failed(what: string, cause?: unknown): ServiceError {
  return new ServiceError("outbound.failed", `The control plane gave no grant: ${what}.`, { cause });
}
