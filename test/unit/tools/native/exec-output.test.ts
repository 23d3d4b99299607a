import { describe, expect, it } from "vitest";
import { ExecOutput, MAX_STREAM_BYTES, previewOutput } from "../../../../src/tools/native/exec-output.js";

const size = (text: string): number => Array.from(text).length;

function outputOf(stdout: string | Uint8Array, stderr = "", outputChars = 4000) {
  const output = new ExecOutput(outputChars);
  output.push("stdout", Buffer.from(stdout));
  output.push("stderr", Buffer.from(stderr));
  output.end();
  return {
    isCut: output.isCut,
    ...output.finish(output.isCut ? { ok: true, path: "/p", sizeBytes: 9 } : null),
  };
}

describe("ExecOutput", () => {
  it("leaves output of exactly the limit untouched, white space at its ends included", () => {
    const text = `  ${"x".repeat(3996)}\n\n`;
    expect(outputOf(text)).toEqual({
      isCut: false,
      stdout: text,
      stderr: "",
      stdout_truncated: false,
      stderr_truncated: false,
      stdout_bytes: 4000,
      stderr_bytes: 0,
      preview: text,
      truncated: false,
      truncated_by: null,
      notes: [],
    });
  });

  it("cuts one character more: 60 % head, 40 % tail, the line between counted in the limit", () => {
    const { stdout, truncated_by } = outputOf("a".repeat(3000) + "b".repeat(1001));
    const [head = "", tail = ""] = stdout.split(/\n\[\.\.\..*\.\.\.\]\n/u);
    expect(size(stdout)).toBeLessThanOrEqual(4000);
    expect(truncated_by).toBe("chars");
    expect(head).toMatch(/^a+$/u);
    expect(tail).toMatch(/^a*b+$/u);
    expect(head.length / (head.length + tail.length)).toBeCloseTo(0.6, 2);
    const missing = Number(/\[\.\.\. (\d+) of 4001 characters/u.exec(stdout)?.[1]);
    expect(head.length + missing + tail.length).toBe(4001);
  });

  it("cuts each stream for itself", () => {
    const output = outputOf("fine\n", "x".repeat(5000));
    expect([output.stdout, output.stdout_truncated, output.stderr_truncated]).toEqual([
      "fine\n",
      false,
      true,
    ]);
    expect(size(output.stderr)).toBeLessThanOrEqual(4000);
    expect(output.notes[0]).toBe("stderr was cut: 5000 characters, 5000 bytes in total.");
  });

  it("keeps streams and preview within 50 KiB, whatever the setting says", () => {
    const output = outputOf("😀".repeat(20_000), "😀".repeat(20_000), 1_000_000);
    expect(Buffer.byteLength(output.stdout)).toBeLessThanOrEqual(MAX_STREAM_BYTES);
    expect(Buffer.byteLength(output.stderr)).toBeLessThanOrEqual(MAX_STREAM_BYTES);
    expect(Buffer.byteLength(output.preview)).toBeLessThanOrEqual(MAX_STREAM_BYTES);
    expect(output.truncated_by).toBe("bytes");
  });

  it("shows at most 20,000 characters of a stream", () => {
    expect(size(outputOf("x".repeat(30_000), "", 30_000).stdout)).toBeLessThanOrEqual(20_000);
  });

  it("flags bytes that are no UTF-8", () => {
    const output = outputOf(Uint8Array.of(0xff, 0xfe, 0x61, 0x62, 0x63));
    expect(output.stdout).toBe("\uFFFD\uFFFDabc");
    expect(output.notes).toEqual([
      "stdout has bytes that are no UTF-8; they are shown as replacement marks.",
    ]);
  });

  it("names the file and its size where the whole output is kept", () => {
    const output = outputOf("x".repeat(5000));
    expect(output.output_path).toBe("/p");
    expect(output.stdout).toContain("/p has 9 bytes");
    expect(output.notes.at(-1)).toBe(
      "The first 9 of 5000 bytes (both streams, in order of arrival) can be read at /p.",
    );
  });
});

describe("previewOutput", () => {
  it("shows the raw text of the only stream that has content", () => {
    expect(previewOutput("a\n", "").text).toBe("a\n");
    expect(previewOutput("", "b").text).toBe("b");
    expect(previewOutput("", "").text).toBe("");
  });

  it("shows a block for each of both streams", () => {
    expect(previewOutput("a\n", "b\n").text).toBe("stdout:\na\nstderr:\nb\n");
    expect(previewOutput("a", "b").text).toBe("stdout:\na\nstderr:\nb");
  });
});
