/** Packages that break in every way, through the composed service: one failed run each, and nobody else hears of it. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FakeBoxBackend } from "../../fakes/fake-box-backend.js";
import { type ComposedService, startService } from "../../support/composed-service.js";
import { writePackage } from "../../support/plugin-directory.js";
import { withTempDir } from "../../support/temp-dir.js";

const BROKEN = `
import { completed, definePlugin, delta, reply } from "berth/plugin-sdk";
import { writeSync } from "node:fs";

const ways = {
  throws() { throw new Error("kaboom at /secret/path"); },
  async rejects() { await Promise.reject(new Error("kaboom")); },
  loops() { for (;;); },
  async spins() { for (;;) await null; },
  allocates() { const kept = []; for (;;) kept.push("x".repeat(100) + kept.length); },
  async buffers() {
    const kept = [];
    for (;;) {
      kept.push(Buffer.alloc(4 * 1024 * 1024, 1));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  },
  waits() { console.log("waiting"); return new Promise(() => {}); },
  exits() { process.exit(3); },
  dies() { process.kill(process.pid, "SIGKILL"); },
  garbage() { writeSync(3, "this is no frame\\n"); return new Promise(() => {}); },
  endless() { writeSync(3, "x".repeat(9 * 1024 * 1024)); return new Promise(() => {}); },
};

export default definePlugin({
  runners: {
    default: async function* (context) {
      const way = ways[context.input.text];
      if (way !== undefined) {
        yield delta("So far");
        await way();
      }
      process.stdout.write("\\u0000 garbage { on standard output\\n");
      console.log("more of it");
      console.error("and on the other one");
      yield reply("Answer to " + context.input.text);
      yield completed();
    },
  },
});
`;

const STEADY = `
import { completed, definePlugin, reply } from "berth/plugin-sdk";
export default definePlugin({
  runners: {
    default: async function* (context, host, { signal }) {
      await new Promise((resolve) => setTimeout(resolve, 1500));
      yield reply("Undisturbed");
      yield completed();
    },
  },
});
`;

let service: ComposedService;
let directory: Awaited<ReturnType<typeof withTempDir>>;

const bound = (id: string, runner: string) => ({
  id,
  runner: { id: runner },
  runner_config: { [runner]: {} },
});

beforeAll(async () => {
  directory = await withTempDir();
  await writePackage(directory.path, {
    id: "acme/broken",
    entry: BROKEN,
    runners: { default: {} },
    spec: { memory_mb: 128 },
  });
  await writePackage(directory.path, { id: "acme/steady", entry: STEADY, runners: { default: {} } });
  service = await startService({
    backend: new FakeBoxBackend(),
    settings: {
      log: { level: "debug" },
      plugins: { directory: directory.path, heartbeat_sec: 3 },
      pipelines: [
        bound("default", "plugin:acme/broken/default"),
        bound("steady", "plugin:acme/steady/default"),
      ],
    },
  });
});

afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await directory[Symbol.asyncDispose]();
});

const message = (text: string, launcher = text, pipeline = "default") => ({
  pipeline,
  chat: { launcher_id: launcher },
  input: { text },
});

describe("a runner of a package", () => {
  it("answers, and what it prints is no protocol", async () => {
    const run = await service.send(message("hello"));
    expect(run).toMatchObject({ status: "completed", message: { content: "Answer to hello" } });
  });

  it.each([
    ["throws", "runner.error", "failed in an unexpected way"],
    ["rejects", "runner.error", "failed in an unexpected way"],
    ["loops", "runner.timeout", "did not react for 3 s"],
    ["spins", "runner.timeout", "did not react for 3 s"],
    ["allocates", "runner.error", "memory limit of 128 MiB"],
    ["buffers", "runner.error", "memory limit of 128 MiB"],
    ["exits", "runner.error", "exit code 3"],
    ["dies", "runner.error", "signal SIGKILL"],
    ["garbage", "runner.protocol", "not of the protocol"],
    ["endless", "runner.protocol", "not of the protocol"],
  ])("that %s costs one failed run, and is back for the next", async (way, code, says) => {
    const other = service.send(message("quiet", `beside ${way}`, "steady"));
    const run = await service.send(message(way));
    expect(run).toMatchObject({ status: code === "runner.timeout" ? "timeout" : "failed", error: { code } });
    expect(run.error?.message).toContain(says);
    expect(JSON.stringify(run)).not.toContain("/secret/path");
    expect(await service.send(message("again", way))).toMatchObject({ status: "completed" });
    expect(await other).toMatchObject({ status: "completed", message: { content: "Undisturbed" } });
  });

  it("takes the runs of its own process along when it ends, each with an error of its own", async () => {
    const waiting = service.send(message("waits"));
    await expect
      .poll(() => service.log.filter((line) => line.includes("A package printed: waiting")))
      .toHaveLength(1);
    const runs = await Promise.all([waiting, service.send(message("exits", "beside waits"))]);
    expect(runs.map(({ error }) => error?.code)).toEqual(["runner.error", "runner.error"]);
    expect(await service.send(message("again"))).toMatchObject({ status: "completed" });
  });
});
