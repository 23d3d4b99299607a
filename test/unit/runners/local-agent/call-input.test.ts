import { describe, expect, it } from "vitest";
import { readCallInput } from "../../../../src/runners/local-agent/call-input.js";
import { findInputFault } from "../../../../src/runners/local-agent/check-input.js";
import { nearestName } from "../../../../src/runners/local-agent/missing-tool.js";
import { parseArguments } from "../../../../src/runners/local-agent/parse-arguments.js";
import { textWith } from "./run-agent.js";

const TOOL = {
  name: "exec",
  description: "Runs a command.",
  parameters: {
    type: "object",
    properties: { command: { type: "string" }, timeout_sec: { type: "integer" } },
    required: ["command"],
  },
};

function read(argumentsText: string, isCut = false) {
  return readCallInput({ id: "c1", name: "exec", argumentsText, extra: {} }, TOOL, isCut);
}

describe("arguments", () => {
  it.each([
    ["", { kind: "objects", objects: [{}], asReceived: false }],
    ["  \n", { kind: "objects", objects: [{}], asReceived: false }],
    ['{"a":1}', { kind: "objects", objects: [{ a: 1 }], asReceived: true }],
    ['"{\\"a\\":1}"', { kind: "objects", objects: [{ a: 1 }], asReceived: false }],
    ['{"a":1}{"a":2}', { kind: "objects", objects: [{ a: 1 }, { a: 2 }], asReceived: false }],
    ['{"a":1} {"a":2} ', { kind: "objects", objects: [{ a: 1 }, { a: 2 }], asReceived: false }],
    ["[1]", { kind: "not_object", came: "a list" }],
    ["null", { kind: "not_object", came: "null" }],
    ['"text"', { kind: "not_object", came: "a string" }],
    ["7", { kind: "not_object", came: "a number" }],
    ['{"a":"b', { kind: "cut" }],
    ['{"a":1}{"a":', { kind: "cut" }],
    ["{'a':1}", { kind: "invalid" }],
    ['{"a":1}}', { kind: "invalid" }],
    ['{"a":1,}{"b":2}', { kind: "invalid" }],
    ["run ls", { kind: "invalid" }],
  ])("%o", (text, expected) => {
    expect(parseArguments(text)).toEqual(expected);
  });

  it("are refused by name, with the fields that are expected", () => {
    const invalid = read("{command: ls}");
    expect(invalid).toEqual({
      ok: false,
      isCut: false,
      error:
        'Invalid JSON arguments for the tool "exec": nothing was executed. Expected fields: command (string, required), timeout_sec (integer).',
    });
  });

  it("are cut where they end inside a value, or where the reply ended at its limit", () => {
    for (const cut of [read('{"command":"l'), read('{"command":"ls"}', true), read("", true)]) {
      expect(cut).toMatchObject({ ok: false, isCut: true });
      expect(cut.ok ? "" : cut.error).toMatch(/^Invalid JSON arguments .*"exec".*cut.*smaller pieces/);
    }
  });

  it("run several objects only when all of them fit", () => {
    expect(read('{"command":"a"}{"command":"b"}')).toMatchObject({
      ok: true,
      objects: [{ command: "a" }, { command: "b" }],
    });
    const one = read('{"command":"a"}{"order":"b"}');
    expect(one).toMatchObject({
      ok: false,
      error: textWith("2 objects came at once and none was executed"),
    });
  });
});

describe("the schema", () => {
  it.each([
    [{}, 'the field "command" is missing'],
    [{ command: 7 }, 'the field "command" must be a string, but a number came'],
    [{ command: null }, 'the field "command" must be a string, but null came'],
    [{ command: "ls", timeout_sec: "soon" }, 'the field "timeout_sec" must be an integer, but a string came'],
    [{ command: "ls", timeout_sec: "30" }, null],
    [{ command: "ls", timeout_sec: null }, null],
    [{ command: "ls", unknown: 1 }, null],
  ])("%o", (input, fault) => {
    expect(findInputFault(TOOL.parameters, input)).toBe(fault);
  });

  it("names fields inside lists and objects, and the words that are allowed", () => {
    const schema = {
      type: "object",
      properties: {
        paths: { type: "array", items: { type: "string" } },
        mode: { enum: ["a", "b"] },
        deep: { type: "object", properties: { flag: { type: ["boolean", "null"] } }, required: ["flag"] },
      },
    };
    expect(findInputFault(schema, { paths: ["a", 1] })).toContain('"paths[1]"');
    expect(findInputFault(schema, { paths: "a" })).toContain('"paths" must be an array');
    expect(findInputFault(schema, { mode: "c" })).toBe('the field "mode" must be one of "a", "b"');
    expect(findInputFault(schema, { deep: {} })).toContain('"deep.flag" is missing');
    expect(findInputFault(schema, { deep: { flag: 1 } })).toContain("a boolean or a null");
    expect(findInputFault(schema, { deep: { flag: null }, mode: "a" })).toBeNull();
    expect(findInputFault({}, { anything: 1 })).toBeNull();
    expect(findInputFault({ type: "strange" }, {})).toBeNull();
  });
});

it("finds the nearest name", () => {
  expect(nearestName("reed", ["exec", "read", "grep"])).toBe("read");
  expect(nearestName("READ", ["exec", "read"])).toBe("read");
  expect(nearestName("x", [])).toBeNull();
});
