import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RunId } from "../../../src/domain/ids.js";
import { ConversationQueue } from "../../../src/runs/conversation-queue.js";

function aQueue(): { queue: ConversationQueue; started: RunId[] } {
  const started: RunId[] = [];
  return { queue: new ConversationQueue((runId) => started.push(runId)), started };
}

describe("ConversationQueue", () => {
  it("starts the first run of a conversation at once and lets the others wait", () => {
    const { queue, started } = aQueue();
    queue.enter("a", "run_1");
    queue.enter("a", "run_2");
    expect(started).toEqual(["run_1"]);
    expect(queue.isWaiting("a", "run_1")).toBe(false);
    expect(queue.isWaiting("a", "run_2")).toBe(true);
  });

  it("starts runs of one conversation one after another, in order of arrival", () => {
    const { queue, started } = aQueue();
    for (const id of ["run_1", "run_2", "run_3"] as const) queue.enter("a", id);
    queue.leave("a", "run_1");
    expect(started).toEqual(["run_1", "run_2"]);
    queue.leave("a", "run_2");
    expect(started).toEqual(["run_1", "run_2", "run_3"]);
  });

  it("lets different conversations run side by side", () => {
    const { queue, started } = aQueue();
    queue.enter("a", "run_1");
    queue.enter("b", "run_2");
    expect(started).toEqual(["run_1", "run_2"]);
  });

  it("forgets a conversation when its last run is over", () => {
    const { queue } = aQueue();
    expect(queue.isBusy("a")).toBe(false);
    queue.enter("a", "run_1");
    expect(queue.isBusy("a")).toBe(true);
    queue.leave("a", "run_1");
    expect(queue.isBusy("a")).toBe(false);
  });

  it("takes a waiting run out of its line and nobody else", () => {
    const { queue, started } = aQueue();
    for (const id of ["run_1", "run_2", "run_3"] as const) queue.enter("a", id);
    expect(queue.withdraw("a", "run_2")).toBe(true);
    queue.leave("a", "run_1");
    expect(started).toEqual(["run_1", "run_3"]);
  });

  it.each(["run_1", "run_9"] as const)("withdraws nothing for a run that does not wait: %s", (runId) => {
    const { queue } = aQueue();
    queue.enter("a", "run_1");
    queue.enter("a", "run_2");
    expect(queue.withdraw("a", runId)).toBe(false);
    expect(queue.withdraw("b", "run_2")).toBe(false);
    expect(queue.isWaiting("a", "run_2")).toBe(true);
  });

  it("moves on only when the current run leaves, and only once", () => {
    const { queue, started } = aQueue();
    for (const id of ["run_1", "run_2", "run_3"] as const) queue.enter("a", id);
    queue.leave("a", "run_2");
    expect(started).toEqual(["run_1"]);
    queue.leave("a", "run_1");
    queue.leave("a", "run_1");
    expect(started).toEqual(["run_1", "run_2"]);
    queue.leave("unknown", "run_1");
    expect(started).toEqual(["run_1", "run_2"]);
  });

  it("puts runs before all that wait, in their order, and begins with them where nothing goes on", () => {
    const { queue, started } = aQueue();
    for (const id of ["run_1", "run_2"] as const) queue.enter("a", id);
    queue.enterFirst("a", ["run_3", "run_4"]);
    queue.enterFirst("b", ["run_5", "run_6"]);
    expect([queue.current("a"), queue.waiting("a")]).toEqual(["run_1", ["run_3", "run_4", "run_2"]]);
    expect([queue.current("b"), queue.waiting("b")]).toEqual(["run_5", ["run_6"]]);
    expect([queue.current("c"), queue.waiting("c")]).toEqual([null, []]);
    expect(started).toEqual(["run_1", "run_5"]);
  });

  it("has room for 100 waiting runs, and names the limit beyond", () => {
    const { queue } = aQueue();
    for (let i = 0; i <= 99; i += 1) queue.enter("a", `run_${i}`);
    expect(() => queue.checkRoom("a")).not.toThrow();
    queue.enter("a", "run_100");
    expect(() => queue.checkRoom("a")).toThrow(
      expect.objectContaining({
        code: "run.queue_full",
        message: "100 messages wait in this conversation; the limit is 100.",
      }),
    );
    expect(() => queue.checkRoom("b")).not.toThrow();
  });

  it("starts every run that is not withdrawn exactly once, in order", () => {
    const steps = fc.array(
      fc.record({ step: fc.constantFrom("enter", "leave", "withdraw"), pick: fc.nat(20) }),
    );
    fc.assert(
      fc.property(steps, (script) => {
        const { queue, started } = aQueue();
        const entered: RunId[] = [];
        const withdrawn = new Set<RunId>();
        for (const { step, pick } of script) {
          const id: RunId = `run_${step === "enter" ? entered.length : pick}`;
          if (step === "enter") {
            entered.push(id);
            queue.enter("a", id);
          } else if (step === "leave") queue.leave("a", started.at(-1) ?? id);
          else if (queue.withdraw("a", id)) withdrawn.add(id);
        }
        while (queue.isBusy("a")) queue.leave("a", started.at(-1) ?? "run_none");
        expect(started).toEqual(entered.filter((id) => !withdrawn.has(id)));
      }),
    );
  });
});
