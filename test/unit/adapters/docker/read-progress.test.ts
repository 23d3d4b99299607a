import { describe, expect, it } from "vitest";
import { ReadProgress } from "../../../../src/adapters/docker/read-progress.js";
import { ENTRY, frame } from "./scripted-link.js";

const REQUESTS = [
  { path: "/workspace/a", offset: 0, length: Number.POSITIVE_INFINITY },
  { path: "/workspace/b", offset: 2, length: 2 },
];

function begun(): ReadProgress {
  const progress = new ReadProgress(REQUESTS);
  progress.take(frame("entry", 0, ENTRY));
  return progress;
}

describe("ReadProgress", () => {
  it("passes on files that hold what they announced, one after another", () => {
    const progress = begun();
    expect(progress.take(frame("bytes", 0, Buffer.from("hello")))).toMatchObject({ type: "bytes", index: 0 });
    expect(progress.take(frame("finished", 0))).toEqual({ type: "end", index: 0 });
    expect(progress.isComplete).toBe(false);
    progress.take(frame("entry", 1, ENTRY));
    progress.take(frame("bytes", 1, Buffer.from("ll")));
    expect(progress.take(frame("finished", 1))).toEqual({ type: "end", index: 1 });
    expect(progress.isComplete).toBe(true);
  });

  it("calls a file changed that ends before all bytes came, whatever the box says", () => {
    const progress = begun();
    progress.take(frame("bytes", 0, Buffer.from("hell")));
    expect(progress.take(frame("finished", 0))).toEqual({ type: "fault", index: 0, fault: "changed" });
  });

  it("passes a fault on, before and after the entry", () => {
    const progress = begun();
    expect(progress.take(frame("fault", 0, "changed"))).toEqual({
      type: "fault",
      index: 0,
      fault: "changed",
    });
    expect(progress.take(frame("fault", 1, "not_found"))).toEqual({
      type: "fault",
      index: 1,
      fault: "not_found",
    });
    expect(progress.isComplete).toBe(true);
  });

  it.each([
    ["bytes above the size", frame("bytes", 0, Buffer.from("hello!"))],
    ["another file", frame("bytes", 1, Buffer.from("x"))],
    ["a second entry", frame("entry", 0, ENTRY)],
    ["an unknown fault", frame("fault", 0, "magic")],
    ["a frame of another kind", frame("exit", 0, {})],
  ])("refuses %s", (_what, odd) => {
    expect(() => begun().take(odd)).toThrow(expect.objectContaining({ code: "box.engine_unavailable" }));
  });

  it.each([frame("bytes", 0, Buffer.from("x")), frame("finished", 0)])(
    "refuses content of a file that was not described",
    (odd) => {
      expect(() => new ReadProgress(REQUESTS).take(odd)).toThrow(
        expect.objectContaining({ code: "box.engine_unavailable" }),
      );
    },
  );

  it("refuses anything after the last file", () => {
    expect(() => new ReadProgress([]).take(frame("entry", 0, ENTRY))).toThrow(/file 0/);
  });
});
