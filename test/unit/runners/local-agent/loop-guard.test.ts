import { describe, expect, it } from "vitest";
import { callKey, LoopGuard } from "../../../../src/runners/local-agent/loop-guard.js";

const key = (modelText: string, argumentsText = "{}") => callKey({ name: "exec", argumentsText, modelText });

describe("equal calls", () => {
  it("are told by tool, canonical arguments and text", () => {
    expect(key("x", '{"a":1,"b":{"c":2,"d":3}}')).toBe(key("x", '{ "b":{"d":3,"c":2}, "a":1 }'));
    expect(key("x", '{"a":1}')).not.toBe(key("x", '{"a":2}'));
    expect(key("x", "[1,2]")).not.toBe(key("x", "[2,1]"));
    expect(key("x", "no json ")).toBe(key("x", "no json"));
    expect(key("x")).not.toBe(key("y"));
  });

  it.each([
    ['{"duration_ms":12}', '{"duration_ms":998}'],
    ['{"started_at":"a"}', '{"started_at":"b"}'],
    ["took 0.31 s", "took 12 s"],
    ["2026-01-02T03:04:05.678Z x", "2027-01-02 03:04:05Z x"],
    ["at 12:30:01", "at 13:00:59"],
    ["id 3f2504e0-4f89-11d3-9a0c-0305e82c3301", "id 3f2504e0-4f89-11d3-9a0c-0305e82c3302"],
    ["see call_abc", "see call_def"],
    ["temp 0123456789abcdef", "temp fedcba9876543210"],
    ["epoch 1700000000", "epoch 1700000001"],
  ])("do not differ by times, durations and generated ids: %s", (one, other) => {
    expect(key(one)).toBe(key(other));
  });

  it.each([
    ["5 files", "6 files"],
    ["line 100", "line 101"],
    ["deadbeef", "deadbee0"],
  ])("differ by everything else: %s", (one, other) => {
    expect(key(one)).not.toBe(key(other));
  });
});

describe("LoopGuard", () => {
  it("counts rounds in a row, equal calls of one batch once", () => {
    let guard = new LoopGuard();
    expect(guard.countOf("a")).toBe(1);
    guard = guard.after(["a", "a", "b"]);
    expect([guard.countOf("a"), guard.countOf("b")]).toEqual([2, 2]);
    guard = guard.after(["a"]);
    expect([guard.countOf("a"), guard.countOf("b")]).toEqual([3, 1]);
    guard = guard.after([]);
    expect(guard.countOf("a")).toBe(1);
  });

  it("is exhausted after the fifth round", () => {
    let guard = new LoopGuard();
    const states = [1, 2, 3, 4, 5].map(() => {
      guard = guard.after(["a"]);
      return guard.isExhausted;
    });
    expect(states).toEqual([false, false, false, false, true]);
  });
});
