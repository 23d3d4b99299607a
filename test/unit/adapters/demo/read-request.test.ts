import { describe, expect, it } from "vitest";
import { readTask } from "../../../../src/adapters/demo/read-request.js";
import type { Message } from "../../../../src/domain/message.js";

const note = JSON.stringify({
  type: "input_attachments",
  trust: "untrusted_reference_data",
  attachments: [{ path: "/workspace/inbox/run_1/0/a.csv" }, { path: null, name: "refused" }, { name: "b" }],
});
const boxNote =
  "Files of this message lie in /workspace/inbox/run_1. Put results into /workspace/outbox/run_1.\nMore.";

const calls = (...ids: readonly string[]): Message => ({
  role: "assistant",
  content: null,
  tool_calls: ids.map((id) => ({ id, type: "function", function: { name: `tool_${id}`, arguments: "{}" } })),
});
const answer = (id: string, content: string): Message => ({ role: "tool", tool_call_id: id, content });

describe("readTask", () => {
  it.each<[string, Message["content"]]>([
    [
      "parts",
      [
        { type: "text", text: "Hi" },
        { type: "text", text: note },
        { type: "text", text: boxNote },
      ],
    ],
    ["one text", `Hi\n\n${note}\n\n${boxNote}`],
  ])("reads attachments and outbox from %s", (_form, content) => {
    const task = readTask([{ role: "user", content }]);
    expect(task.attachments).toEqual([{ path: "/workspace/inbox/run_1/0/a.csv" }]);
    expect(task.outbox).toBe("/workspace/outbox/run_1");
    expect(task.turns).toEqual([]);
  });

  it("reads whole paths of a note that was cut", () => {
    const content =
      '{"type":"input_attachments","attachments":[{"path":"/workspace/inbox/run_1/0/a"},{"path":"/works';
    expect(readTask([{ role: "user", content }]).attachments).toEqual([
      { path: "/workspace/inbox/run_1/0/a" },
    ]);
  });

  it("looks at the last user message and what was done since", () => {
    const task = readTask([
      { role: "system", content: "Be nice." },
      { role: "user", content: "old /workspace/outbox/run_0" },
      calls("a"),
      answer("a", "old answer"),
      { role: "assistant", content: "done" },
      { role: "user", content: "new" },
      calls("b", "c"),
      answer("b", "1"),
      answer("c", "2"),
      calls("d"),
      answer("d", "3"),
    ]);
    expect(task.text).toBe("new");
    expect(task.outbox).toBeNull();
    expect(task.turns).toEqual([
      [
        { name: "tool_b", answer: "1" },
        { name: "tool_c", answer: "2" },
      ],
      [{ name: "tool_d", answer: "3" }],
    ]);
  });

  it("joins answers to calls by id where their order differs, and by place where ids repeat", () => {
    const swapped = readTask([
      { role: "user", content: "x" },
      calls("a", "b"),
      answer("b", "B"),
      answer("a", "A"),
    ]);
    expect(swapped.turns[0]?.map((call) => call.answer)).toEqual(["A", "B"]);
    const equal = readTask([
      { role: "user", content: "x" },
      calls("a", "a"),
      answer("a", "1"),
      answer("a", "2"),
    ]);
    expect(equal.turns[0]?.map((call) => call.answer)).toEqual(["1", "2"]);
  });

  it("takes a missing answer for an empty one", () => {
    expect(readTask([{ role: "user", content: "x" }, calls("a")]).turns).toEqual([
      [{ name: "tool_a", answer: "" }],
    ]);
  });

  it("reads a conversation without a user message", () => {
    expect(readTask([])).toEqual({ text: "", attachments: [], outbox: null, turns: [] });
  });
});
