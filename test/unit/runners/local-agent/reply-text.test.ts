import { describe, expect, it } from "vitest";
import { ReplyText } from "../../../../src/runners/local-agent/reply-text.js";
import { withoutThinking } from "../../../../src/runners/local-agent/think-filter.js";

function read(
  pieces: readonly string[],
  options: { removeThink?: boolean; holdsBack?: boolean; offered?: readonly string[] } = {},
) {
  const text = new ReplyText({
    removeThink: options.removeThink ?? true,
    holdsBack: options.holdsBack ?? false,
    offered: new Set(options.offered ?? ["exec"]),
  });
  const shown: string[] = [];
  for (const piece of pieces) {
    text.push(piece);
    shown.push(text.shown);
  }
  text.end();
  return {
    shown,
    final: text.shown,
    answer: text.answer,
    calls: text.calls.map(({ name, argumentsText }) => [name, argumentsText]),
  };
}

describe("thinking", () => {
  it.each([
    [["<think>a</think>Hi"], "Hi"],
    [["<thi", "nking>a</thin", "king>\n\nHi"], "Hi"],
    [["<THINK>a</Think>Hi <think>b</think>you"], "Hi you"],
    [["plan</think>Hello"], "Hello"],
    [["a<think>b</think>c</think>d"], "d"],
    [["1 < 2 and <thin air>"], "1 < 2 and <thin air>"],
    [["ends with <thin"], "ends with <thin"],
    [["<think>never closed"], ""],
  ])("is removed from %o", (pieces, expected) => {
    expect(read(pieces).final).toBe(expected);
    expect(withoutThinking(pieces.join(""))).toBe(expected);
  });

  it("never shows a part of a tag or of what is inside it", () => {
    const text = "<think>secret</think>Hi";
    const { shown } = read(Array.from(text));
    expect(new Set(shown)).toEqual(new Set(["", "H", "Hi"]));
  });

  it("withdraws what looked like an answer, and holds it back the next time", () => {
    expect(read(["plan", "…</think>", "Hello"]).shown).toEqual(["plan", "", "Hello"]);
    expect(read(["plan", "…</think>", "Hello"], { holdsBack: true }).shown).toEqual(["", "", "Hello"]);
    const plain = read(["no thinking"], { holdsBack: true });
    expect([plain.shown, plain.final]).toEqual([[""], "no thinking"]);
  });

  it("is shown as it came where it is not to be removed", () => {
    const kept = read(["<think>a</think>Hi"], { removeThink: false });
    expect([kept.final, kept.answer]).toEqual(["<think>a</think>Hi", "Hi"]);
  });

  it("is shown in tags before the answer when it comes in a field of its own", () => {
    const text = new ReplyText({ removeThink: false, holdsBack: false, offered: new Set() });
    text.pushReasoning("be");
    text.pushReasoning("cause");
    expect(text.shown).toBe("<think>because");
    text.push("Hi");
    text.end();
    expect([text.shown, text.answer, text.raw]).toEqual(["<think>because</think>\n\nHi", "Hi", "Hi"]);
  });
});

describe("calls written as text", () => {
  const CALL = '<tool_call>{"name":"exec","arguments":{"command":"ls"}}</tool_call>';

  it("are taken out, wherever the text is cut", () => {
    for (const pieces of [[`a ${CALL} b`], Array.from(`a ${CALL} b`)]) {
      const { final, calls } = read(pieces);
      expect(final).toBe("a  b");
      expect(calls).toEqual([["exec", '{"command":"ls"}']]);
    }
  });

  it.each([
    ["in a code fence", `\`\`\`\n${CALL}\n\`\`\``],
    ["in a fence of tildes that backticks do not close", `~~~\n\`\`\`\n${CALL}`],
    ["for a tool that is not offered", CALL.replace("exec", "rm")],
    ["that name nothing", "<tool_call>exec ls</tool_call>"],
  ])("do not count %s", (_, text) => {
    const { final, calls } = read([text]);
    expect([final, calls]).toEqual([text, []]);
  });

  it("count after a fence was closed, and after a line that only looks like one", () => {
    expect(read([`\`\`\`sh\nls\n\`\`\`\n${CALL}`]).calls).toHaveLength(1);
    expect(read([`text \`\`\`\n${CALL}`]).calls).toHaveLength(1);
    expect(read([`<<${CALL}`]).calls).toHaveLength(1);
  });

  it("count outside thinking only", () => {
    expect(read([`<think>${CALL}</think>${CALL}`]).calls).toHaveLength(1);
    expect(read([`${CALL}</think>${CALL}`]).calls).toHaveLength(1);
  });

  it("take other spellings of their arguments", () => {
    const spelled = '<tool_call>\n{"name":"exec","parameters":{"a":1}}\n</tool_call>';
    const doubled = '<tool_call>{"name":"exec","arguments":"{\\"a\\":1}"}</tool_call>';
    expect(read([spelled, doubled, '<tool_call>{"name":"exec"}</tool_call>']).calls).toEqual([
      ["exec", '{"a":1}'],
      ["exec", '{"a":1}'],
      ["exec", "{}"],
    ]);
  });

  it("stay broken where they came broken", () => {
    const [cut] = read(['Text <tool_call>{"name":"exec","arguments":{"command":"l']).calls;
    expect(cut).toEqual(["exec", '{"command":"l']);
    expect(read(['<tool_call>{"name":"exec",']).calls).toEqual([["exec", "{"]]);
    expect(read(['<tool_call>{"name":"exec","arguments":{command}}</tool_call>']).calls).toEqual([
      ["exec", "{command}}"],
    ]);
    expect(read(["<tool_call>no name"]).final).toBe("<tool_call>no name");
  });
});
