import { describe, expect, it } from "vitest";
import { findUnansweredCalls } from "../../../src/domain/history.js";
import type { Message } from "../../../src/domain/message.js";

function asking(...ids: readonly string[]): Message {
  return {
    role: "assistant",
    content: null,
    tool_calls: ids.map((id) => ({
      id,
      type: "function" as const,
      function: { name: "exec", arguments: "{}" },
    })),
  };
}

function answering(id: string): Message {
  return { role: "tool", content: "ok", tool_call_id: id };
}

const idsOf = (messages: readonly Message[]) => findUnansweredCalls(messages).map(({ id }) => id);

describe("findUnansweredCalls", () => {
  it("finds nothing in a conversation without calls, or with every call answered", () => {
    expect(findUnansweredCalls([{ role: "user", content: "Hello" }])).toEqual([]);
    expect(findUnansweredCalls([asking("c1", "c2"), answering("c2"), answering("c1")])).toEqual([]);
  });

  it("names the calls that nothing answered, in the order they were asked", () => {
    expect(findUnansweredCalls([asking("c1", "c2", "c3"), answering("c2")])).toEqual([
      { id: "c1", name: "exec" },
      { id: "c3", name: "exec" },
    ]);
  });

  it("wants an answer for each use of an id that comes again in a later batch", () => {
    expect(idsOf([asking("c1"), answering("c1"), asking("c1")])).toEqual(["c1"]);
    expect(idsOf([asking("c1"), answering("c1"), asking("c1"), answering("c1")])).toEqual([]);
  });

  it("takes no answer before its call, none to an unknown call, and none that is no tool message", () => {
    expect(idsOf([answering("c1"), asking("c1")])).toEqual(["c1"]);
    expect(idsOf([asking("c1"), answering("c9")])).toEqual(["c1"]);
    expect(idsOf([asking("c1"), { role: "user", content: "ok", tool_call_id: "c1" }])).toEqual(["c1"]);
  });
});
