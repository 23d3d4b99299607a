import { describe, expect, it } from "vitest";
import { demoAnswer } from "../../../../src/adapters/demo/demo-answer.js";
import { nextStep, readListing } from "../../../../src/adapters/demo/demo-steps.js";

const OUTBOX = "/workspace/outbox/run_1";
const ALL = new Set(["exec", "read", "glob", "export_box_files"]);
const listing = (answer: string) => [{ name: "glob", answer }];

const result = (preview: string): string =>
  JSON.stringify({ status: "completed", exit_code: 0, duration_ms: 1, preview });

describe("readListing", () => {
  it.each([
    ["matches", JSON.stringify({ matches: [`${OUTBOX}/b`, `${OUTBOX}/a`, "/workspace/x"] })],
    ["printed lines", JSON.stringify({ stdout: `${OUTBOX}/b\n${OUTBOX}/a\n` })],
    ["an answer that was cut", `{"path":"${OUTBOX}","matches":["${OUTBOX}/b","${OUTBOX}/a","${OUTBOX}/half`],
  ])("reads %s, sorted", (_form, answer) => {
    expect(readListing(listing(answer))).toEqual([`${OUTBOX}/a`, `${OUTBOX}/b`]);
  });

  it("finds nothing in an error that names the outbox", () => {
    expect(readListing(listing(`Error: "${OUTBOX}" does not exist.`))).toEqual([]);
  });
});

describe("nextStep", () => {
  const task = { text: "```sh\na\n```", attachments: [], outbox: OUTBOX, turns: [] };
  const done = { name: "exec", answer: "{}" };

  it("exports at most 100 files", () => {
    const matches = Array.from({ length: 120 }, (_, i) => `${OUTBOX}/${String(i).padStart(3, "0")}`);
    const step = nextStep({ ...task, turns: [[done], listing(JSON.stringify({ matches }))] }, ALL);
    expect(step?.calls).toEqual([{ name: "export_box_files", input: { paths: matches.slice(0, 100) } }]);
  });

  it("delivers nothing where export is not offered", () => {
    expect(nextStep({ ...task, turns: [[done]] }, new Set(["exec", "glob"]))).toBeNull();
  });

  it("reads at most five attachments, with what is offered", () => {
    const attachments = Array.from({ length: 8 }, (_, i) => ({ path: `/workspace/inbox/run_1/${i}/a` }));
    const step = nextStep({ ...task, text: "look", attachments }, new Set(["read"]));
    expect(step?.calls.map(({ name }) => name)).toEqual(["read", "read", "read", "read", "read"]);
  });
});

describe("demoAnswer", () => {
  it("reads an export result in the form that carries references", () => {
    const files = [{ name: "a.txt", size: 2, path: `${OUTBOX}/a.txt` }];
    const answer = JSON.stringify({ type: "tool_result_references", file_refs: files, result: { files } });
    const turns = [
      [{ name: "exec", answer: "not JSON" }],
      listing(JSON.stringify({ matches: [`${OUTBOX}/a.txt`] })),
      [{ name: "export_box_files", answer }],
    ];
    const text = demoAnswer({ text: "```sh\na\n```", attachments: [], outbox: OUTBOX, turns }, ALL);
    expect(text).toContain("**1. sh**\n\n```\nnot JSON\n```");
    expect(text).toContain("**Delivered:** a.txt (2 bytes)");
  });

  it("cuts long output and says that nothing came out", () => {
    const turns = [
      [{ name: "exec", answer: result("x".repeat(9000)) }],
      [{ name: "exec", answer: result("\n") }],
    ];
    const text = demoAnswer(
      { text: "```sh\na\n```\n```sh\nb\n```", attachments: [], outbox: null, turns },
      ALL,
    );
    expect(text).toContain(`${"x".repeat(1500)}\n[...]`);
    expect(text).toContain("**2. sh** (exit code 0, 1 ms)\n\n(no output)");
  });
});
