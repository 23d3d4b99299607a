import { describe, expect, it } from "vitest";
import { endError, judgeExit } from "../../../../src/adapters/plugins/process-end.js";

const EXIT = { exitCode: null, signal: "SIGABRT" };

describe("judgeExit", () => {
  it("knows a full heap by the last words of the engine", () => {
    const words = "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory";
    expect(judgeExit(EXIT, words, 64)).toEqual({ kind: "memory", limitMb: 64 });
    expect(judgeExit(EXIT, "Bye.", 64)).toEqual({ kind: "exited", ...EXIT });
  });
});

describe("endError", () => {
  it.each([
    [{ kind: "exited", exitCode: 3, signal: null }, "runner.error", "exit code 3"],
    [{ kind: "exited", ...EXIT }, "runner.error", "signal SIGABRT"],
    [{ kind: "not_started" }, "runner.error", "could not be started"],
    [{ kind: "hung", limitMs: 2500 }, "runner.timeout", "did not react for 2.5 s"],
    [{ kind: "memory", limitMb: 64 }, "runner.error", "limit of 64 MiB"],
    [{ kind: "protocol", cause: new Error("x") }, "runner.protocol", "not of the protocol"],
    [{ kind: "stopped" }, "service.stopping", "was stopped"],
  ] as const)("tells the runs of a process that ended so: %o", (end, code, says) => {
    const error = endError("acme/echo", end, "the last output, at /a/path");
    expect(error).toMatchObject({ code });
    expect(error.message).toContain(says);
    expect(error.message).not.toContain("/a/path");
  });
});
