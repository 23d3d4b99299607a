import { execFile, execFileSync } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { hasEngine } from "../support/engine.js";

const run = promisify(execFile);

function hasPython(): boolean {
  try {
    execFileSync("python3", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

describe.skipIf(!hasEngine() || !hasPython())("boxd in a box", () => {
  it("ends every kind of command without a trace, moves 100 MB in flat memory and answers in milliseconds", async () => {
    const { stdout } = await run(process.execPath, ["--import", "tsx", "scripts/prove-boxd.ts"], {
      env: { ...process.env, ROUNDS: "2" },
    });

    expect(stdout).toContain("boxd ended with 0");
    expect(stdout).not.toContain("DOES NOT HOLD");
  }, 180_000);
});
