import { execFile, execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";

const run = promisify(execFile);
const SUITE_MS = 600_000;

/** `npm test` brings a compiler where it can, and then it must be there. */
function hasCompiler(): boolean {
  if (process.env["REQUIRE_COMPILER"] === "1") return true;
  try {
    for (const program of ["gcc", "make", "python3"])
      execFileSync(program, ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

describe.skipIf(!hasCompiler())("boxd by itself", () => {
  it(
    "passes its tests with both ways of opening files and with sanitizers, and survives mutated frames",
    async () => {
      const out = await mkdtemp(join(tmpdir(), "berth-boxd-"));
      try {
        const { stdout } = await run("box-image/boxd/test/run", [], {
          env: { ...process.env, OUT: out, ROUNDS: "40" },
          maxBuffer: 64 * 1024 * 1024,
        });
        expect(stdout).toMatch(/300000 mutated frames, [1-9]\d* of them well formed/);
        expect(stdout).toMatch(/40 mutated conversations, [1-9]\d* of them refused/);
      } finally {
        await rm(out, { recursive: true, force: true });
      }
    },
    SUITE_MS,
  );
});
