import { describe, expect, it } from "vitest";
import {
  findCommandFault,
  findEnvFault,
  MAX_COMMAND_BYTES,
  resolveTimeout,
} from "../../../../src/tools/native/exec-input.js";

describe("findCommandFault", () => {
  it("takes any text up to the length of one argument", () => {
    expect(findCommandFault("echo 你好\n")).toBeNull();
    expect(findCommandFault("x".repeat(MAX_COMMAND_BYTES))).toBeNull();
  });

  it("names limit and value of a command that is too long", () => {
    expect(findCommandFault("你".repeat(50_000))).toMatch(/150000 bytes, at most 131071/);
  });

  it.each(["", "  \n", "a\0b"])("refuses %j", (command) => {
    expect(findCommandFault(command)).toMatch(/^Invalid input for exec: command: /);
  });
});

describe("findEnvFault", () => {
  it("takes ordinary variables", () => {
    expect(findEnvFault({ PATH: "/bin", _x1: "", LANG: "de_DE" })).toBeNull();
  });

  it.each(["BERTH_INBOX", "BERTH_OUTBOX", "BERTH_NEW"])("refuses the reserved name %s", (name) => {
    expect(findEnvFault({ [name]: "x" })).toMatch(`"${name}" is reserved`);
  });

  it.each(["", "1A", "A-B", "A=B", "A B", "Ä"])("refuses the name %j", (name) => {
    expect(findEnvFault({ [name]: "x" })).toMatch(/is not a variable name/);
  });

  it("refuses NUL, a long value, and too many variables", () => {
    expect(findEnvFault({ A: "\0" })).toMatch(/value with NUL/);
    expect(findEnvFault({ A: "x".repeat(40_000) })).toMatch(/40000 bytes, at most 32768/);
    const many = Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`A${i}`, "x"]));
    expect(findEnvFault(many)).toMatch(/101 variables, at most 100/);
  });
});

describe("resolveTimeout", () => {
  const settings = { execTimeoutSec: 30, execMaxTimeoutSec: 120 };

  it.each([
    [undefined, 30, null],
    [0, 30, null],
    [-5, 30, null],
    [5, 5, null],
    [0.5, 0.5, null],
    [120, 120, null],
    [900, 120, 900],
  ])("makes of %o seconds %o", (asked, seconds, refusedSeconds) => {
    expect(resolveTimeout(asked, settings)).toEqual({ seconds, refusedSeconds, maxSeconds: 120 });
  });
});
