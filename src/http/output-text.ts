/** Output of a process as text, cut only between characters while more may come. Pure. */
import { Utf8Text } from "../lib/utf8-text.js";
import type { JobOutput, OutputPart } from "../ports/box-jobs.js";

export interface TextPiece {
  readonly stream: OutputPart["stream"];
  readonly text: string;
}

export interface OutputText {
  readonly output: TextPiece[];
  readonly next: number;
  readonly dropped_bytes: number;
}

const STREAMS = ["stdout", "stderr"] as const;

/** Output that comes in several reads. */
export class OutputTexts {
  readonly #texts = { stdout: new Utf8Text(), stderr: new Utf8Text() };

  /** @returns the text so far; half a character at the end of a stream waits for the next read */
  push({ parts, next, droppedBytes }: JobOutput): OutputText {
    const output = parts.map(({ stream, bytes }) => ({ stream, text: this.#texts[stream].push(bytes) }));
    return { output: output.filter(hasText), next, dropped_bytes: droppedBytes };
  }

  /** Bytes of a stream that wait. */
  pendingBytes(stream: OutputPart["stream"]): number {
    return this.#texts[stream].pendingBytes;
  }

  /** @returns marks for what waits and will not be completed */
  end(streams: readonly OutputPart["stream"][] = STREAMS): TextPiece[] {
    return streams.map((stream) => ({ stream, text: this.#texts[stream].end() })).filter(hasText);
  }
}

/**
 * One read for a client that comes again at `next`.
 * @param isWhole whether nothing comes after this, so that half a character at the end is a broken one
 */
export function toOutputText(read: JobOutput, isWhole: boolean): OutputText {
  const texts = new OutputTexts();
  const text = texts.push(read);
  const last = isWhole ? null : (read.parts.at(-1)?.stream ?? null);
  const broken = texts.end(STREAMS.filter((stream) => stream !== last));
  const pendingBytes = last === null ? 0 : texts.pendingBytes(last);
  return { ...text, output: [...text.output, ...broken], next: text.next - pendingBytes };
}

function hasText({ text }: TextPiece): boolean {
  return text !== "";
}
