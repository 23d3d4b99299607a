/** What every Runner promises (ports/runner.ts, runs §2, §3.5, §18). */
import { describe, expect, it } from "vitest";
import { ServiceError } from "../../src/domain/errors.js";
import { messageText } from "../../src/domain/message.js";
import { RESULT_DATA, type RunnerResult } from "../../src/domain/result.js";
import type { RunContext } from "../../src/domain/run-context.js";
import { parseRunnerId } from "../../src/domain/runner-id.js";
import type { RunHost } from "../../src/ports/run-host.js";
import type { Runner } from "../../src/ports/runner.js";

/** One run that can be executed: a context, and the host that answers for it. */
export interface PreparedRun {
  readonly context: RunContext;
  readonly host: RunHost;
}

export interface RunnerUnderTest {
  readonly runner: Runner;
  /** A run that uses a tool where the runner can, and answers with this text. */
  readonly answering: (answer: string, runId: `run_${string}`) => PreparedRun;
  /** A run whose remote side never answers. */
  readonly hanging: () => PreparedRun;
  /** A run whose remote side fails. */
  readonly failing: () => PreparedRun;
}

export function describeRunner(name: string, make: () => RunnerUnderTest): void {
  describe(`runner: ${name}`, () => {
    it("describes itself under a plugin id, with English labels", () => {
      const { descriptor } = make().runner;
      expect(parseRunnerId(descriptor.id).source).toBe("plugin");
      expect(descriptor.protocol_version).toBe("1");
      for (const item of [descriptor, ...descriptor.config_schema]) expect(item.label["en"]).toBeTruthy();
    });

    it("yields results that fit their schemas, of its own run, with one terminal result as the last", async () => {
      const { runner, answering, failing } = make();
      for (const prepared of [answering("The answer.", "run_a"), failing()]) {
        const results = await collect(runner, prepared);
        for (const result of results) {
          expect(RESULT_DATA[result.type].safeParse(result.data)).toMatchObject({ success: true });
          expect(result.run_id).toBe(prepared.context.run_id);
        }
        expect(results.map(({ type }) => type.startsWith("run.")).indexOf(true)).toBe(results.length - 1);
        expect(results.at(-1)?.usage).toBeDefined();
      }
    });

    it("gives its answer as one complete message, and snapshots numbered from 1", async () => {
      const { runner, answering } = make();
      const results = await collect(runner, answering("The answer.", "run_a"));
      const messages = results.flatMap((result) =>
        result.type === "message.completed" ? [result.data.message] : [],
      );
      expect(messages.map(({ content }) => content)).toEqual(["The answer."]);
      const numbers = results.flatMap((result) =>
        result.type === "message.delta" ? [result.data.chunk.msg_sequence] : [],
      );
      expect(numbers).toEqual(numbers.map((_, i) => i + 1));
    });

    it("leaves its context as it was", async () => {
      const { runner, answering } = make();
      const prepared = answering("The answer.", "run_a");
      const before = JSON.stringify(prepared.context);
      await collect(runner, { ...prepared, context: freeze(prepared.context) });
      expect(JSON.stringify(prepared.context)).toBe(before);
    });

    it("keeps nothing between runs, and mixes none that go on at once", async () => {
      const { runner, answering } = make();
      const runs = [answering("First.", "run_a"), answering("Second.", "run_b")];
      const together = await Promise.all(runs.map((prepared) => collect(runner, prepared)));
      const again = await collect(runner, answering("First.", "run_a"));
      expect(together.map(textOf)).toEqual(["First.", "Second."]);
      expect(again.map(({ type }) => type)).toEqual(together[0]?.map(({ type }) => type));
    });

    it("ends soon when it is stopped, before and while it waits", async () => {
      const { runner, hanging } = make();
      const reason = new ServiceError("cancelled", "Stopped by the test.");
      const early = await collect(runner, hanging(), AbortSignal.abort(reason));
      expect(early.map(({ type }) => type)).not.toContain("run.completed");
      const controller = new AbortController();
      setImmediate(() => controller.abort(reason));
      const late = await collect(runner, hanging(), controller.signal);
      expect(late.map(({ type }) => type)).not.toContain("run.completed");
    });

    it("reports a failure as a result, with a code and whether another try makes sense", async () => {
      const { runner, failing } = make();
      const end = (await collect(runner, failing())).at(-1);
      if (end?.type !== "run.failed") throw new Error("The run did not fail.");
      expect(end.data.code).toMatch(/^[a-z_.]+$/);
      expect(end.data.error).not.toBe("");
    });

    it("finds no fault in an empty config", () => {
      expect(make().runner.findConfigFaults({})).toEqual([]);
    });
  });
}

async function collect(
  runner: Runner,
  { context, host }: PreparedRun,
  signal: AbortSignal = new AbortController().signal,
): Promise<readonly RunnerResult[]> {
  const results: RunnerResult[] = [];
  try {
    for await (const result of runner.run(context, host, { signal })) results.push(result);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return results;
}

function textOf(results: readonly RunnerResult[]): string {
  return results
    .flatMap((result) => (result.type === "message.completed" ? [messageText(result.data.message)] : []))
    .join("");
}

function freeze<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null) return value;
  for (const inner of Object.values(value)) freeze(inner);
  return Object.freeze(value);
}
