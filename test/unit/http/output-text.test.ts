import { describe, expect, it } from "vitest";
import { OutputTexts, toOutputText } from "../../../src/http/output-text.js";
import type { JobOutput, OutputPart } from "../../../src/ports/box-jobs.js";

const E_ACUTE = Buffer.from("é");

function aRead(...parts: readonly (readonly [OutputPart["stream"], Uint8Array])[]): JobOutput {
  const next = parts.reduce((sum, [, bytes]) => sum + bytes.length, 0);
  return { parts: parts.map(([stream, bytes]) => ({ stream, bytes })), next, droppedBytes: 0 };
}

describe("toOutputText", () => {
  it("leaves half a character at the end to the next poll, unless nothing comes any more", () => {
    const read = aRead(["stdout", Buffer.from("a")], ["stderr", E_ACUTE.subarray(0, 1)]);
    expect(toOutputText(read, false)).toEqual({
      output: [{ stream: "stdout", text: "a" }],
      next: 1,
      dropped_bytes: 0,
    });
    expect(toOutputText(read, true)).toMatchObject({
      output: [{}, { stream: "stderr", text: "\ufffd" }],
      next: 2,
    });
    expect(toOutputText(aRead(), false)).toEqual({ output: [], next: 0, dropped_bytes: 0 });
  });

  it("joins a character that the other stream came between, and marks one that stays broken", () => {
    const read = aRead(
      ["stdout", E_ACUTE.subarray(0, 1)],
      ["stderr", Buffer.from("!")],
      ["stdout", E_ACUTE.subarray(1)],
      ["stderr", Buffer.from("?")],
    );
    expect(toOutputText(read, false).output.map(({ text }) => text)).toEqual(["!", "é", "?"]);
    const broken = aRead(["stdout", E_ACUTE.subarray(0, 1)], ["stderr", Buffer.from("!")]);
    expect(toOutputText(broken, false).output).toContainEqual({ stream: "stdout", text: "\ufffd" });
  });
});

describe("OutputTexts", () => {
  it("reads characters that are cut between two reads", () => {
    const texts = new OutputTexts();
    expect(texts.push(aRead(["stdout", E_ACUTE.subarray(0, 1)])).output).toEqual([]);
    expect(texts.push(aRead(["stdout", E_ACUTE.subarray(1)])).output).toEqual([
      { stream: "stdout", text: "é" },
    ]);
    expect(texts.end()).toEqual([]);
    texts.push(aRead(["stderr", E_ACUTE.subarray(0, 1)]));
    expect(texts.end()).toEqual([{ stream: "stderr", text: "\ufffd" }]);
  });
});
