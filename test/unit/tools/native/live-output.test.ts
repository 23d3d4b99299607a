import { describe, expect, it } from "vitest";
import { LiveOutput } from "../../../../src/tools/native/live-output.js";

const bytes = (text: string): Uint8Array => Buffer.from(text);

function textOf(events: Iterable<{ readonly type: string }>): readonly string[] {
  return [...events].map((event) => ("text" in event ? String(event.text) : ""));
}

describe("LiveOutput", () => {
  it("passes pieces on as they come, each stream for itself", () => {
    const live = new LiveOutput();
    expect([...live.push("stdout", bytes("a"))]).toEqual([{ type: "output", stream: "stdout", text: "a" }]);
    expect([...live.push("stderr", bytes("b"))]).toEqual([{ type: "output", stream: "stderr", text: "b" }]);
  });

  it("holds a split character back until it is whole", () => {
    const live = new LiveOutput();
    expect([...live.push("stdout", Uint8Array.of(0xe4, 0xbd))]).toEqual([]);
    expect(textOf(live.push("stderr", bytes("x")))).toEqual(["x"]);
    expect(textOf(live.push("stdout", Uint8Array.of(0xa0)))).toEqual(["你"]);
  });

  it("gives out the mark of a character that the end cut", () => {
    const live = new LiveOutput();
    expect([...live.push("stdout", Uint8Array.of(0xe4))]).toEqual([]);
    expect(textOf(live.end())).toEqual(["\uFFFD"]);
  });

  it("cuts large pieces into 4 KiB without splitting characters", () => {
    const texts = textOf(new LiveOutput().push("stdout", bytes("你".repeat(3000))));
    expect(texts.join("")).toBe("你".repeat(3000));
    expect(Math.max(...texts.map((text) => Buffer.byteLength(text)))).toBe(4095);
  });

  it("closes with one notice after 64 KiB", () => {
    const live = new LiveOutput();
    const texts = textOf(live.push("stdout", bytes("x".repeat(100_000))));
    expect(texts.slice(0, -1).join("")).toHaveLength(65_536);
    expect(texts.at(-1)).toContain("live output ends here");
    expect([...live.push("stdout", bytes("more")), ...live.end()]).toEqual([]);
  });

  it("closes with one notice after 200 pieces", () => {
    const live = new LiveOutput();
    const texts = Array.from({ length: 300 }, () => textOf(live.push("stderr", bytes("x")))).flat();
    expect(texts).toHaveLength(201);
    expect(texts.at(-1)).toContain("at most 200 pieces");
  });
});
