import { describe, expect, it } from "vitest";
import { hasStoppedEntry } from "../../../../src/adapters/docker/has-stopped-entry.js";

const SHIM = "90";
const FIRST = ["100", SHIM, "Ss"];

describe("hasStoppedEntry", () => {
  it.each([
    ["an empty list", [], false],
    ["a box at work", [FIRST, ["101", SHIM, "Ssl"], ["102", "101", "RN"]], false],
    ["a helper that was stopped", [FIRST, ["101", SHIM, "Ts"], ["102", "101", "RN"]], true],
    ["a command that was stopped", [FIRST, ["101", SHIM, "Ss"], ["102", "101", "TN"]], false],
    ["a helper that is traced", [FIRST, ["101", SHIM, "ts"]], false],
    ["rows that say nothing", [[], ["101"]], false],
  ])("reads %s", (_what, processes, isStopped) => {
    expect(hasStoppedEntry(processes)).toBe(isStopped);
  });
});
