import { describe, expect, it } from "vitest";
import { MemoryTranscriptStore } from "../../../src/adapters/memory/memory-transcript-store.js";
import { closeCalls } from "../../../src/runs/close-calls.js";
import { aRun, aTranscriptItem } from "../../support/records.js";

const toolCall = (id: string) => ({
  id,
  type: "function" as const,
  function: { name: "exec", arguments: "{}" },
});

async function roles(transcripts: MemoryTranscriptStore): Promise<unknown[]> {
  const page = { direction: "forward" as const, from: null, limit: 100 };
  const items = await transcripts.page("main", "conversation-1", page);
  return items.map(({ message }) => [message.role, message.tool_call_id, message.content]);
}

describe("closeCalls", () => {
  it("answers what is unanswered directly after the message that called, in order", async () => {
    const transcripts = new MemoryTranscriptStore();
    const message = {
      role: "assistant" as const,
      content: null,
      tool_calls: [toolCall("c1"), toolCall("c2"), toolCall("c3")],
    };
    await transcripts.append(aTranscriptItem({ message }));
    const answer = { role: "tool" as const, tool_call_id: "c2", content: "done" };
    await transcripts.append(aTranscriptItem({ message: answer }));
    await closeCalls(transcripts, aRun(), 5000);
    expect(await roles(transcripts)).toEqual([
      ["assistant", undefined, null],
      ["tool", "c2", "done"],
      ["tool", "c1", "Error: interrupted: result unknown"],
      ["tool", "c3", "Error: interrupted: result unknown"],
    ]);
    expect(await transcripts.unansweredCalls("run_1")).toEqual([]);
  });

  it("writes nothing where all calls are answered, or are another run's", async () => {
    const transcripts = new MemoryTranscriptStore();
    const message = { role: "assistant" as const, content: "x", tool_calls: [toolCall("c1")] };
    await transcripts.append(aTranscriptItem({ message, runId: "run_0" }));
    await closeCalls(transcripts, aRun(), 5000);
    expect(await roles(transcripts)).toHaveLength(1);
  });
});
