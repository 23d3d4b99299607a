/** From a clone to a delivered file with one command and the line it prints. */
import { execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import Docker from "dockerode";
import { describe, expect, inject, it } from "vitest";
import { runSchema } from "../../src/domain/run.js";
import { removeServiceDirectory } from "../support/data-directory.js";
import { removeOwned, serviceIdOf } from "../support/service-boxes.js";

const run = promisify(execFile);
/** The first start also builds what is missing. */
const START_MS = 600_000;

/** Starts the service as a person would; it ends with the scope. */
async function npmStart(directory: string): Promise<AsyncDisposable & { readonly output: string }> {
  const child = spawn("npm", ["start"], {
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...withoutModel(), BERTH_PORT: "0", BERTH_DATA_DIR: join(directory, "data") },
  });
  let output = "";
  const limit = AbortSignal.timeout(START_MS);
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output += text));
  for await (const text of child.stdout.setEncoding("utf8")) {
    output += String(text);
    if (/^ {2}curl /m.test(output)) break;
    if (limit.aborted) throw new Error(output);
  }
  return {
    output,
    [Symbol.asyncDispose]: async () => {
      const gone = once(child, "exit");
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGTERM");
      await gone;
    },
  };
}

function withoutModel(): NodeJS.ProcessEnv {
  const { OPENAI_API_KEY: _key, BERTH_CONFIG: _config, BERTH_API_KEY: _own, ...rest } = process.env;
  return rest;
}

describe.skipIf(!inject("dockerAvailable"))("npm start", () => {
  it(
    "prints the demo model and a curl line that gets a delivered file",
    async () => {
      const directory = await mkdtemp(join(tmpdir(), "berth-start-"));
      try {
        await using service = await npmStart(directory);
        expect(service.output).toContain("demo model");
        const lines = service.output.split("\n").filter((line) => /^ {2}(printf|curl) /.test(line));
        const { stdout } = await run("bash", ["-c", lines.join("\n")]);
        const answer = runSchema.parse(JSON.parse(stdout));
        expect(answer.message?.content).toContain("demo model");
        expect(answer.message?.content).toMatch(/1\. bash.*exit code 0[\s\S]*Oslo,5/);
        const [delivery] = answer.deliveries;
        expect(answer.deliveries.map(({ name }) => name)).toEqual(["lines.txt"]);
        const url = /listens on (\S+)/.exec(service.output)?.[1] ?? "";
        const bytes = await (await fetch(`${url}${delivery?.url}`)).arrayBuffer();
        expect(createHash("sha256").update(Buffer.from(bytes)).digest("hex")).toBe(delivery?.sha256);
      } finally {
        await removeOwned(new Docker(), await serviceIdOf(directory));
        await removeServiceDirectory(directory);
      }
    },
    START_MS,
  );
});
