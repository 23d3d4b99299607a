import { describe, expect, it } from "vitest";
import { LineCutter } from "../../../src/lib/line-cutter.js";

describe("LineCutter", () => {
  it("gives whole lines, empty ones too, and keeps the rest", () => {
    const cutter = new LineCutter(10);
    const cut = (text: string) => [...cutter.push(Buffer.from(text))].map(String);
    expect(cut("one\n\ntw")).toEqual(["one", ""]);
    expect(cut("o\n")).toEqual(["two"]);
  });

  it("holds no more of a line than the limit", () => {
    const cutter = new LineCutter(4);
    expect([...cutter.push(Buffer.from("1234\n12"))]).toHaveLength(1);
    expect(() => [...cutter.push(Buffer.from("345"))]).toThrow("longer than 4 bytes");
  });
});
