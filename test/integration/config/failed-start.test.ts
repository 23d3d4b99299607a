/** A service that cannot start says why and ends; it never hangs without serving. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { CleanupStack } from "../../../src/lib/cleanup-stack.js";

const PATIENCE_MS = 30_000;

describe("a start", () => {
  it(
    "on a port that is taken ends with the reason and the next step",
    async () => {
      await using made = new CleanupStack();
      const directory = await mkdtemp(join(tmpdir(), "berth-test-"));
      made.defer(() => rm(directory, { recursive: true, force: true }));
      const holder = createServer().listen(0, "127.0.0.1");
      made.defer(() => void holder.close());
      await once(holder, "listening");
      const address = holder.address();
      const port = typeof address === "object" ? (address?.port ?? 0) : 0;
      const child = spawn(process.execPath, ["--import", "tsx", "src/main.ts"], {
        env: {
          PATH: process.env["PATH"],
          BERTH_DATA_DIR: directory,
          BERTH_PORT: String(port),
          DOCKER_HOST: `unix://${join(directory, "no.sock")}`,
        },
        stdio: ["ignore", "ignore", "pipe"],
      });
      made.defer(() => void child.kill("SIGKILL"));
      let said = "";
      child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
      expect(await once(child, "exit", { signal: AbortSignal.timeout(PATIENCE_MS) })).toEqual([69, null]);
      expect(said).toContain(
        `The service could not start: 127.0.0.1:${port} cannot be listened on (EADDRINUSE).`,
      );
      expect(said).toContain("BERTH_PORT");
    },
    PATIENCE_MS,
  );

  it.each([["start"], ["check-config"]])(
    "with a configuration that cannot work ends with 78 and every fault with its path: %s",
    async (word) => {
      await using made = new CleanupStack();
      const directory = await mkdtemp(join(tmpdir(), "berth-test-"));
      made.defer(() => rm(directory, { recursive: true, force: true }));
      const file = join(directory, "berth.yaml");
      await writeFile(
        file,
        "pipelines: [{id: default, runner: {id: local-agent}, runner_config: {local-agent: {tmeout: 3}}, policy: {allowed_tool_names: [exce]}}]",
      );
      const words = word === "start" ? [word] : [word, file];
      const child = spawn(process.execPath, ["--import", "tsx", "src/main.ts", ...words], {
        env: { PATH: process.env["PATH"], BERTH_CONFIG: file, DOCKER_HOST: "nonsense" },
        stdio: ["ignore", "pipe", "pipe"],
      });
      made.defer(() => void child.kill("SIGKILL"));
      let said = "";
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding("utf8").on("data", (text: string) => (said += text));
      expect(await once(child, "close", { signal: AbortSignal.timeout(PATIENCE_MS) })).toEqual([78, null]);
      expect(said).toContain("boxes.engines[0].host: found text of 8 characters from DOCKER_HOST");
      expect(said).toContain('pipelines[0].policy.allowed_tool_names[0]: found "exce", which is no tool');
      expect(said).toContain('"tmeout" is no setting of the local agent');
    },
    PATIENCE_MS,
  );
});
