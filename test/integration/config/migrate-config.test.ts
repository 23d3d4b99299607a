/** The command as an operator gives it. */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const PATIENCE_MS = 30_000;
const OLD = "pipelines: [{id: default, ai: {runner: {runner: local-agent}, local-agent: {max-round: 3}}}]\n";

let directory = "";
let file = "";
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "berth-test-"));
  file = join(directory, "berth.yaml");
  await writeFile(file, OLD);
});
afterEach(async () => {
  await rm(directory, { recursive: true, force: true });
});

/** @returns exit code, and what was said on both streams */
function berth(...words: readonly string[]): Promise<{ code: number; said: string }> {
  const args = ["--import", "tsx", "src/main.ts", ...words];
  return new Promise((resolve) => {
    const child = execFile(process.execPath, args, { timeout: PATIENCE_MS }, (_error, stdout, stderr) =>
      resolve({ code: child.exitCode ?? -1, said: stdout + stderr }),
    );
  });
}

describe("berth migrate-config", () => {
  it(
    "shows what would change, writes it once that is confirmed, and what it wrote has no fault",
    async () => {
      const shown = await berth("migrate-config", file);
      expect([shown.code, await readFile(file, "utf8")]).toEqual([0, OLD]);
      expect(shown.said).toContain("max-round is removed.");
      expect((await berth("migrate-config", file, "--confirm")).code).toBe(0);
      expect(await readFile(`${file}.bak`, "utf8")).toBe(OLD);
      expect(await berth("check-config", file)).toMatchObject({ code: 0 });
    },
    PATIENCE_MS,
  );

  it.each([[["migrate-config", "a", "b"]], [["migrate-config", "a", "--templates", "maybe"]]])(
    "says how it is used after %j",
    async (words) => {
      const { code, said } = await berth(...words);
      expect(code).toBe(64);
      expect(said).toContain("berth migrate-config FILE [--confirm]");
    },
    PATIENCE_MS,
  );
});
