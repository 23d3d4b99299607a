/** Reads server-sent events of the service: the fields of a run event, nothing else. */
import { parseJson } from "./parse-json.mjs";

/**
 * @template T
 * @typedef {{ type: string, data: T }} RunEvent
 */

/**
 * @template T
 * @param {ReadableStream<Uint8Array>} body
 * @returns {AsyncGenerator<RunEvent<T>>}
 */
export async function* readRunEvents(body) {
  let rest = "";
  const decoder = new TextDecoder();
  for await (const bytes of body) {
    const blocks = (rest + decoder.decode(bytes, { stream: true })).split(/\r?\n\r?\n/);
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const lines = block.split(/\r?\n/).filter((line) => line.startsWith("data:"));
      if (lines.length > 0) yield parseJson(lines.map((line) => line.slice(5)).join("\n"));
    }
  }
}
