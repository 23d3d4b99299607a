/** Output of a running command on its way to the run's events: bounded pieces, then one closing notice (box §12.7). */
import { measureText, prefixWithin } from "../../lib/code-points.js";
import { Utf8Text } from "../../lib/utf8-text.js";
import type { ToolEvent } from "../../ports/tool.js";

const MAX_EVENTS = 200;
const MAX_BYTES = 64 * 1024;
const MAX_EVENT_BYTES = 4 * 1024;
const NOTICE = `\n[live output ends here: at most ${MAX_EVENTS} pieces and ${MAX_BYTES} bytes are sent; the result follows]\n`;

type StreamName = "stdout" | "stderr";

export class LiveOutput {
  readonly #texts = { stdout: new Utf8Text(), stderr: new Utf8Text() };
  #events = 0;
  #bytes = 0;
  #isClosed = false;

  /** @yields the events of this piece: none when it is empty or the limits of the call were reached before */
  *push(stream: StreamName, bytes: Uint8Array): Generator<ToolEvent> {
    if (this.#isClosed) return;
    yield* this.#send(stream, this.#texts[stream].push(bytes));
  }

  /** @yields what a cut character at the end of a stream left over */
  *end(): Generator<ToolEvent> {
    for (const stream of ["stdout", "stderr"] as const) {
      if (this.#isClosed) return;
      yield* this.#send(stream, this.#texts[stream].end());
    }
  }

  *#send(stream: StreamName, text: string): Generator<ToolEvent> {
    let rest = text;
    while (rest !== "") {
      const roomBytes = Math.min(MAX_EVENT_BYTES, MAX_BYTES - this.#bytes);
      const piece =
        this.#events < MAX_EVENTS ? prefixWithin(rest, { chars: MAX_EVENT_BYTES, bytes: roomBytes }) : "";
      if (piece === "") {
        this.#isClosed = true;
        yield { type: "output", stream, text: NOTICE };
        return;
      }
      this.#events += 1;
      this.#bytes += measureText(piece).bytes;
      rest = rest.slice(piece.length);
      yield { type: "output", stream, text: piece };
    }
  }
}
