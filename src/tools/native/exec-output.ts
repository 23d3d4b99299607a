/** What the model sees of a command's output: both streams cut apart, a preview, and what was left out (box §12.4–§12.6). */
import { type Missing, OutputWindow, type WindowedText, windowText } from "../../lib/output-window.js";
import type { SavedResult } from "../tool-results.js";

/** Cap of each stream and of the preview, whatever the setting says. */
export const MAX_STREAM_BYTES = 50 * 1024;
/** Most that `exec.output_chars` can be. */
export const MAX_OUTPUT_CHARS = 20_000;

export interface ExecOutputFields {
  readonly stdout: string;
  readonly stderr: string;
  readonly stdout_truncated: boolean;
  readonly stderr_truncated: boolean;
  readonly stdout_bytes: number;
  readonly stderr_bytes: number;
  readonly preview: string;
  readonly truncated: boolean;
  /** The limit that cut first; null = nothing was cut. */
  readonly truncated_by: "chars" | "bytes" | null;
  readonly output_path?: string | undefined;
  readonly notes: readonly string[];
}

/** Takes output as it comes and keeps a bounded part of it. */
export class ExecOutput {
  readonly #windows: { readonly stdout: OutputWindow; readonly stderr: OutputWindow };

  /** @param outputChars characters of each stream for the model; above 20,000 counts as 20,000 */
  constructor(outputChars: number) {
    const limits = { chars: Math.min(outputChars, MAX_OUTPUT_CHARS), bytes: MAX_STREAM_BYTES };
    this.#windows = { stdout: new OutputWindow(limits), stderr: new OutputWindow(limits) };
  }

  /** Whether a stream is longer than what is shown of it. */
  get isCut(): boolean {
    return this.#windows.stdout.isCut || this.#windows.stderr.isCut;
  }

  push(stream: "stdout" | "stderr", bytes: Uint8Array): void {
    this.#windows[stream].push(bytes);
  }

  /** Ends both streams; then `isCut` is final. */
  end(): void {
    this.#windows.stdout.end();
    this.#windows.stderr.end();
  }

  /** @param saved where the whole output is; null when nothing was cut */
  finish(saved: SavedResult | null): ExecOutputFields {
    const { stdout: outWindow, stderr: errWindow } = this.#windows;
    const stdout = outWindow.finish(streamMarker(outWindow.sizeBytes, saved));
    const stderr = errWindow.finish(streamMarker(errWindow.sizeBytes, saved));
    const preview = previewOutput(stdout.text, stderr.text);
    const truncatedBy = stdout.truncatedBy ?? stderr.truncatedBy ?? preview.truncatedBy;
    return {
      stdout: stdout.text,
      stderr: stderr.text,
      stdout_truncated: stdout.truncatedBy !== null,
      stderr_truncated: stderr.truncatedBy !== null,
      stdout_bytes: outWindow.sizeBytes,
      stderr_bytes: errWindow.sizeBytes,
      preview: preview.text,
      truncated: truncatedBy !== null,
      truncated_by: truncatedBy,
      ...(saved?.ok === true ? { output_path: saved.path } : {}),
      notes: [
        ...describeCut("stdout", stdout, outWindow),
        ...describeCut("stderr", stderr, errWindow),
        ...describeSaved(saved, outWindow.sizeBytes + errWindow.sizeBytes),
      ],
    };
  }
}

/** The raw text when only one stream has content, else a block for each; within 50 KiB. */
export function previewOutput(stdout: string, stderr: string): WindowedText {
  const limits = { chars: MAX_STREAM_BYTES, bytes: MAX_STREAM_BYTES };
  const lineEnd = stdout.endsWith("\n") ? "" : "\n";
  const isOne = stdout === "" || stderr === "";
  const text = isOne ? stdout + stderr : `stdout:\n${stdout}${lineEnd}stderr:\n${stderr}`;
  return windowText(text, limits, ({ chars }) => `\n[... ${chars} characters left out of the preview ...]\n`);
}

function streamMarker(sizeBytes: number, saved: SavedResult | null): (missing: Missing) => string {
  const where = saved?.ok === true ? `; ${saved.path} has ${saved.sizeBytes} bytes of output` : "";
  return ({ chars, totalChars }) =>
    `\n[... ${chars} of ${totalChars} characters (${sizeBytes} bytes in all) left out${where} ...]\n`;
}

function describeCut(name: string, shown: WindowedText, window: OutputWindow): readonly string[] {
  const notes: string[] = [];
  if (shown.truncatedBy !== null)
    notes.push(`${name} was cut: ${shown.totalChars} characters, ${window.sizeBytes} bytes in total.`);
  if (!window.isUtf8) notes.push(`${name} has bytes that are no UTF-8; they are shown as replacement marks.`);
  return notes;
}

function describeSaved(saved: SavedResult | null, totalBytes: number): readonly string[] {
  if (saved === null) return [];
  if (!saved.ok) return [`The whole output was not kept. ${saved.reason}`];
  const part =
    saved.sizeBytes < totalBytes ? `The first ${saved.sizeBytes} of ${totalBytes} bytes` : "The whole output";
  return [`${part} (both streams, in order of arrival) can be read at ${saved.path}.`];
}
