import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RunnerResult } from "../../../src/domain/result.js";
import { ResultNormaliser } from "../../../src/runs/normalise-results.js";
import { completed, delta, failed, message, type ScriptedResult } from "../../fakes/scripted-runner.js";
import { proves } from "../../support/proves.js";

const MIB = 1024 * 1024;

function aNormaliser(fields: { streaming?: boolean } = {}): {
  take: (result: ScriptedResult) => { result: RunnerResult | null; codes: string[] };
  raw: ResultNormaliser;
} {
  const raw = new ResultNormaliser({ runId: "run_1", streaming: true, ...fields });
  return {
    raw,
    take: (scripted) => {
      const { result, warnings } = raw.take({ ...scripted, run_id: "run_1" });
      return { result, codes: warnings.map(({ code }) => code) };
    },
  };
}

describe("ResultNormaliser: types and payloads", () => {
  it("passes a delta with a chunk on", () => {
    proves("FLOW-01");
    expect(aNormaliser().take(delta("Hello"))).toEqual({
      result: {
        type: "message.delta",
        data: { chunk: { role: "assistant", content: "Hello" } },
        run_id: "run_1",
        sequence: 1,
      },
      codes: [],
    });
  });

  it("drops a delta without chunk and a message.completed without message, and goes on", () => {
    proves("FLOW-02");
    const { take } = aNormaliser();
    expect(take({ type: "message.delta", data: {} })).toEqual({ result: null, codes: ["result.invalid"] });
    expect(take({ type: "message.completed", data: {} })).toEqual({
      result: null,
      codes: ["result.invalid"],
    });
    expect(take(message("Hi")).result?.type).toBe("message.completed");
  });

  it.each(["foo.bar", "chunk", "message", "run.finished", "toString", "__proto__"])(
    "ignores the type %s with a warning",
    (type) => {
      proves("FLOW-03");
      const { take } = aNormaliser();
      expect(take({ type, data: { chunk: 1 } })).toEqual({ result: null, codes: ["result.unknown_type"] });
      expect(take(delta("Hi"))).toMatchObject({ result: { sequence: 2 }, codes: [] });
    },
  );

  it("passes error, code and retryable of a failure on", () => {
    proves("FLOW-04");
    const { take } = aNormaliser();
    const data = { error: "No model answered.", code: "runner.llm_error", retryable: true };
    expect(take({ type: "run.failed", data }).result).toMatchObject({ type: "run.failed", data });
  });

  it.each([
    ["a field too many", { chunk: { role: "assistant", content: "x" }, extra: 1 }],
    ["a field too many in the chunk", { chunk: { role: "assistant", content: "x", extra: 1 } }],
    ["a wrong type", { chunk: { role: "assistant", content: 7 } }],
    ["no object", "text"],
  ])("drops a payload with %s, at the cost of a warning", (_what, data) => {
    expect(aNormaliser().take({ type: "message.delta", data })).toEqual({
      result: null,
      codes: ["result.invalid"],
    });
  });

  it("drops a result whose usage is malformed, not the run", () => {
    const { take } = aNormaliser();
    expect(take({ ...completed(), usage: { model_calls: "many" } })).toEqual({
      result: null,
      codes: ["result.invalid"],
    });
    expect(take(completed()).result?.type).toBe("run.completed");
  });

  it("says in a bounded text what is wrong", () => {
    const data = { chunk: { role: "assistant", content: "x", ["y".repeat(5000)]: 1 } };
    const { warnings } = aNormaliser().raw.take({ type: "message.delta", data, run_id: "run_1" });
    expect(warnings).toHaveLength(1);
    expect(warnings[0]?.message.length).toBe(1000);
  });

  it("drops deltas of a runner that does not declare streaming", () => {
    const { take } = aNormaliser({ streaming: false });
    expect(take(delta("x"))).toEqual({ result: null, codes: ["result.not_streaming"] });
    expect(take(message("x")).result?.type).toBe("message.completed");
  });

  it.each([
    ["text", "hello"],
    ["nothing", null],
    ["no type", { data: {}, run_id: "run_1" }],
    ["no run id", { type: "message.delta", data: {} }],
    ["another run's id", { ...delta("x"), run_id: "run_2" }],
  ])("takes %s for a breach of the protocol", (_what, raw) => {
    expect(() => aNormaliser().raw.take(raw)).toThrow(expect.objectContaining({ code: "runner.protocol" }));
  });

  it.each([completed(), failed("runner.error")])("ignores everything after $type", (last) => {
    const { take, raw } = aNormaliser();
    take(last);
    expect(take(message("late"))).toEqual({ result: null, codes: [] });
    expect(raw.take("no result at all")).toEqual({ result: null, warnings: [] });
  });

  it("goes on after a terminal result that did not fit its schema", () => {
    const { take } = aNormaliser();
    take(completed({ finish_reason: "bored" }));
    expect(take(message("on")).result?.type).toBe("message.completed");
  });
});

describe("ResultNormaliser: sequence", () => {
  it("drops the second result of one number", () => {
    proves("FLOW-05");
    const { take } = aNormaliser();
    expect(take({ ...delta("a"), sequence: 1 }).result).toMatchObject({ sequence: 1 });
    expect(take({ ...delta("b"), sequence: 1 })).toEqual({ result: null, codes: [] });
    expect(take({ ...delta("c"), sequence: 2 }).result).toMatchObject({
      sequence: 2,
      data: { chunk: { content: "c" } },
    });
  });

  it.each([undefined, 0, -3, 1.5, "2", null, Number.NaN, 1e300])(
    "numbers a result that came with %o after the last one",
    (sequence) => {
      const { take } = aNormaliser();
      take({ ...delta("a"), sequence: 5 });
      expect(take({ ...delta("b"), sequence })).toMatchObject({ result: { sequence: 6 }, codes: [] });
    },
  );

  it("warns of a gap and keeps the result", () => {
    const { take } = aNormaliser();
    take(delta("a"));
    expect(take({ ...delta("b"), sequence: 4 })).toMatchObject({
      result: { sequence: 4 },
      codes: ["result.gap"],
    });
  });

  it("counts results that are dropped, so that the next one leaves no gap", () => {
    const { take } = aNormaliser();
    take({ type: "foo.bar", data: {}, sequence: 1 });
    take({ type: "message.delta", data: {}, sequence: 2 });
    expect(take({ ...delta("a"), sequence: 3 })).toMatchObject({ result: { sequence: 3 }, codes: [] });
  });

  it("gives rising numbers for all that may be given", () => {
    const given = fc.oneof(fc.integer({ min: -2, max: 30 }), fc.constant(undefined), fc.string());
    fc.assert(
      fc.property(fc.array(given), (sequences) => {
        const { take } = aNormaliser();
        const numbers = sequences.flatMap(
          (sequence) => take({ ...delta(""), sequence }).result?.sequence ?? [],
        );
        expect(numbers).toEqual([...new Set(numbers)].toSorted((one, other) => one - other));
      }),
    );
  });
});

describe("ResultNormaliser: limits", () => {
  it("cuts a text above 1 MiB to 10,000 characters and refuses another kind that large", () => {
    proves("FLOW-07");
    const { take } = aNormaliser();
    const content = `${"x".repeat(10_000)}\n[cut: 1048576 characters, kept 10000]`;
    expect(take(message("x".repeat(MIB))).result).toMatchObject({ data: { message: { content } } });
    const action = { type: "action.requested", data: { action: "x", more: "x".repeat(MIB) } };
    expect(take(action)).toEqual({ result: null, codes: ["result.too_large"] });
  });

  it("refuses a result that is no plain JSON", () => {
    const data = { tool_call_id: "c", tool_name: "t", result: 1n };
    expect(aNormaliser().take({ type: "tool.call.completed", data })).toEqual({
      result: null,
      codes: ["result.invalid"],
    });
  });

  it("counts what snapshots grow by, and ends the run above 1 MiB of it", () => {
    const { take } = aNormaliser();
    for (let size = MIB / 4; size <= MIB; size += MIB / 4)
      expect(take(delta("x".repeat(size))).result).not.toBeNull();
    expect(() => take(delta("x".repeat(MIB + 1)))).toThrow(
      expect.objectContaining({
        code: "run.output_limit",
        message: "The run generated 1048577 characters in 5 chunks; the limits are 1048576 and 100000.",
      }),
    );
  });

  it("counts what is generated anew after a snapshot has shrunk", () => {
    const { take } = aNormaliser();
    const large = "x".repeat(MIB * 0.6);
    take(delta(large));
    take(delta(""));
    expect(() => take(delta(large))).toThrow(expect.objectContaining({ code: "run.output_limit" }));
  });

  it("does not count a complete message on top of the stream it repeats", () => {
    const { take } = aNormaliser();
    const text = "x".repeat(MIB * 0.6);
    take(delta(text));
    expect(take(message(text)).result).not.toBeNull();
  });

  it("ends a run that completes messages without end", () => {
    const { take } = aNormaliser();
    const text = "x".repeat(MIB / 2);
    take(message(text));
    take(message(text));
    expect(() => take(message("x"))).toThrow(expect.objectContaining({ code: "run.output_limit" }));
  });

  it("ends a run after 100,000 chunks", () => {
    const { take } = aNormaliser();
    for (let i = 0; i < 100_000; i += 1) take(delta("x"));
    expect(() => take(delta("x"))).toThrow(expect.objectContaining({ code: "run.output_limit" }));
  });
});
