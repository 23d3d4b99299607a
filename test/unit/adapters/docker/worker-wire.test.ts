import { describe, expect, it } from "vitest";
import {
  exitSchema,
  listedSchema,
  readEntry,
  readPayload,
} from "../../../../src/adapters/docker/worker-wire.js";
import { ENTRY, frame } from "./scripted-link.js";

describe("what the worker says", () => {
  it("takes the path from us and the rest from the box", () => {
    expect(readEntry("/workspace/a", frame("entry", 0, { ...ENTRY, path: "/etc/passwd" }))).toEqual({
      path: "/workspace/a",
      kind: "file",
      sizeBytes: 5,
      linkCount: 1,
      mode: 0o644,
      modifiedMs: 1000,
      version: "v1",
      readable: true,
    });
  });

  it.each([
    ["no JSON", Buffer.from("{")],
    ["another kind", { ...ENTRY, kind: "socket" }],
    ["a negative size", { ...ENTRY, size: -1 }],
    ["half a byte", { ...ENTRY, size: 0.5 }],
    ["more than a number holds", { ...ENTRY, size: 2 ** 60 }],
    ["an endless version", { ...ENTRY, version: "v".repeat(1000) }],
    ["a list", [ENTRY]],
  ])("refuses an entry with %s", (_what, payload) => {
    expect(() => readEntry("/workspace/a", frame("entry", 0, payload))).toThrow(
      expect.objectContaining({ code: "box.engine_unavailable" }),
    );
  });

  it.each([[[".."]], [["."]], [["a/b"]], [["\0"]], [[""]], [[]], ["a"]])(
    "refuses a listed name that leads elsewhere: %j",
    (names) => {
      expect(() => readPayload(listedSchema, frame("entries", 0, [{ ...ENTRY, names }]))).toThrow(
        /does not fit/,
      );
    },
  );

  it.each([
    { code: 256, signal: null, by: "exit", leftovers: 0, disk: null, oom_kills: 0, pids_refused: 0 },
    { code: 0, signal: null, by: "magic", leftovers: 0, disk: null, oom_kills: 0, pids_refused: 0 },
    { code: 0, signal: null, by: "exit", leftovers: -1, disk: null, oom_kills: 0, pids_refused: 0 },
    { code: 0, by: "exit" },
  ])("refuses an impossible exit: %j", (exit) => {
    expect(() => readPayload(exitSchema, frame("exit", 0, exit))).toThrow(/does not fit/);
  });
});
