import { describe, expect, it } from "vitest";
import { makeExecBody } from "../../../../src/adapters/docker/exec-request.js";

const REQUEST = { argv: ["sh", "-lc", "true"], workdir: "/workspace/a/../b", env: {}, timeoutMs: 5000 };

describe("makeExecBody", () => {
  it("puts a command into the worker's words, with a second line a second later", () => {
    expect(
      makeExecBody({ ...REQUEST, env: { GREETING: "hello world", LANG: "de_DE.UTF-8" } }, { quotaMib: 2 }),
    ).toEqual({
      op: "exec",
      parts: ["b"],
      argv: ["sh", "-lc", "true"],
      env: {
        HOME: "/workspace/.home",
        LANG: "de_DE.UTF-8",
        LOGNAME: "boxuser",
        PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        USER: "boxuser",
        GREETING: "hello world",
      },
      timeout_ms: 6000,
      disk_bytes: 2_097_152,
      disk_entries: 100_000,
    });
  });

  it("refuses what no kernel takes", () => {
    expect(() => makeExecBody({ ...REQUEST, argv: [] }, { quotaMib: 0 })).toThrow(/empty/);
  });
});
