/** Packages in processes of their own, at the port: what they may ask, how they are stopped, how they come back. */
import { readdirSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { ServiceError } from "../../../src/domain/errors.js";
import type { RunnerResult } from "../../../src/domain/result.js";
import { CleanupStack } from "../../../src/lib/cleanup-stack.js";
import { describePluginPackages } from "../../contracts/plugin-packages.js";
import { FakeRunHost } from "../../fakes/fake-run-host.js";
import { ScriptedModel, text } from "../../fakes/scripted-model.js";
import { type Opened, opened } from "../../support/opened.js";
import {
  aPluginContext,
  aPluginEvent,
  type OpenPackages,
  openPackages,
  type PackageText,
  writePackage,
} from "../../support/plugin-directory.js";
import { withTempDir } from "../../support/temp-dir.js";

const CALL = { signal: new AbortController().signal };

/** A package whose runner `default` has this body; `context`, `host` and `signal` are there. */
function aPackage(body: string, more: Partial<PackageText> = {}): PackageText {
  const entry = `
import { completed, definePlugin, delta, HostError, reply } from "berth/plugin-sdk";
import { writeSync } from "node:fs";
const say = (value) => reply(JSON.stringify(value ?? null));
export default definePlugin({
  runners: { default: async function* (context, host, { signal }) { ${body} } },
  tools: {
    double: ({ of }) => 2 * of,
    fails: () => { throw new Error("no such number"); },
    hangs: (_parameters, { signal }) => new Promise((resolve) => signal.addEventListener("abort", resolve)),
    ends: () => process.exit(1),
  },
  onEvent: async ({ text }) => {
    if (text === "fail") throw new Error("deaf");
    if (text === "hang") await new Promise(() => {});
    return { heard: text };
  },
});`;
  const tools = ["double", "fails", "hangs", "ends"].map((name) => ({ name, description: name }));
  return {
    id: "acme/echo",
    entry,
    runners: { default: {} },
    ...more,
    spec: { listens_to: ["message.received"], tools, ...more.spec },
  };
}

const answerSchema = z.object({ asked: z.array(z.string()), told: z.record(z.string(), z.string()) });

interface Setting extends OpenPackages {
  readonly directory: string;
}

async function aSetting(
  written: readonly PackageText[],
  settings: Parameters<typeof openPackages>[1] = {},
): Promise<Opened<Setting>> {
  await using life = new CleanupStack();
  const directory = life.use(await withTempDir()).path;
  for (const each of written) await writePackage(directory, each);
  const packages = life.use(openPackages(directory, settings)).it;
  return owned({ ...packages, directory }, life.move());
}

function owned(setting: Setting, life: CleanupStack): Opened<Setting> {
  return opened(setting, () => life[Symbol.asyncDispose]());
}

describePluginPackages("in processes of their own", async () => {
  const setting = await aSetting([
    aPackage('yield reply("Answer"); yield completed();', { spec: { tools: [] } }),
  ]);
  return opened(setting.it.packages, () => setting[Symbol.asyncDispose]());
});

interface Ask {
  readonly runId?: `run_${string}`;
  readonly text?: string;
  readonly host?: FakeRunHost;
  readonly packageId?: string;
  readonly runnerName?: string;
  readonly signal?: AbortSignal;
}

function start({ packages }: OpenPackages, ask: Ask = {}): AsyncIterable<RunnerResult> {
  const {
    packageId = "acme/echo",
    runnerName = "default",
    host = new FakeRunHost(),
    signal = CALL.signal,
  } = ask;
  return packages.run({ packageId, runnerName }, { context: aPluginContext(ask), host }, { signal });
}

async function collect(packages: OpenPackages, ask: Ask = {}): Promise<readonly RunnerResult[]> {
  const results: RunnerResult[] = [];
  for await (const result of start(packages, ask)) results.push(result);
  return results;
}

/** What the runner said, as JSON. */
async function said(packages: OpenPackages, ask: Ask = {}): Promise<unknown> {
  const [first] = await collect(packages, ask);
  if (first?.type !== "message.completed" || typeof first.data.message.content !== "string")
    throw new Error("The runner said nothing.");
  return JSON.parse(first.data.message.content);
}

describe("a host call of a package", () => {
  it("reaches the host of its run, model pieces as they come", async () => {
    using model = new ScriptedModel([text("Hi"), text(["Hi", " there"])]);
    const host = new FakeRunHost({ models: { main: model }, tools: { look: { run: () => "seen" } } });
    await using setting = await aSetting([
      aPackage(`
        const ask = { model_id: "main", messages: [{ role: "user", content: "Hello" }] };
        const { message } = await host.invokeModel(ask);
        let streamed = "";
        for await (const { text = "" } of host.streamModel(ask)) streamed += text;
        const tool = await host.callTool({ tool_name: "look" });
        await host.setState({ scope: "conversation", key: "n", value: 7 });
        const state = await host.getState({ scope: "conversation", key: "n" });
        yield say({ whole: message.content, streamed, tool, state });`),
    ]);
    expect(await said(setting.it, { host })).toEqual({
      whole: "Hi",
      streamed: "Hi there",
      tool: { ok: true, result: "seen" },
      state: 7,
    });
  });

  it("is an action that there is, whichever method of the host it comes from", async () => {
    await using setting = await aSetting([
      aPackage(`
        const names = Object.getOwnPropertyNames(Object.getPrototypeOf(host));
        const asked = names.filter((name) => !["constructor", "call", "streamModel"].includes(name));
        const told = {};
        for (const name of asked) await host[name]({}).catch(({ message }) => (told[name] = message));
        yield say({ asked, told });`),
    ]);
    const { asked, told } = answerSchema.parse(await said(setting.it));
    expect(asked).toContain("historySearch");
    expect(Object.values(told).filter((message) => message.includes("no host action"))).toEqual([]);
  });

  it("fails with the code and the details of the protocol, and the run goes on", async () => {
    await using setting = await aSetting([
      aPackage(`
        const codes = [];
        const note = ({ code, message, retryable, details }) => codes.push([code, retryable, details.code]);
        await host.callTool({ tool_name: "none" }).catch(note);
        await host.call("no_such_action").catch(note);
        await host.call("call_tool", { tool_name: 1 }).catch(note);
        yield say(codes);`),
    ]);
    expect(await said(setting.it)).toEqual([
      ["unauthorized", false, "host.unauthorized"],
      ["not_found", false, "host.not_found"],
      ["invalid_argument", false, "host.invalid_argument"],
    ]);
  });

  it("is given up with its own signal, and the host hears of it", async () => {
    let stopped = false;
    const run = async (_parameters: unknown, { signal }: { readonly signal: AbortSignal }) =>
      new Promise<string>((resolve) => {
        signal.addEventListener("abort", () => {
          stopped = true;
          resolve("late");
        });
      });
    const host = new FakeRunHost({ tools: { slow: { run } } });
    await using setting = await aSetting([
      aPackage(`
        const call = host.callTool({ tool_name: "slow" }, { signal: AbortSignal.timeout(50) });
        yield say(await call.then(() => "answered", ({ name }) => name));`),
    ]);
    expect(await said(setting.it, { host })).toBe("TimeoutError");
    await expect.poll(() => stopped).toBe(true);
  });

  it("is one of 32 at most at one time", async () => {
    const release: (() => void)[] = [];
    const run = async () => new Promise<void>((resolve) => release.push(resolve));
    const host = new FakeRunHost({ tools: { slow: { run } } });
    await using setting = await aSetting([
      aPackage(`
        const calls = Array.from({ length: 33 }, () => host.callTool({ tool_name: "slow" }).catch(({ code }) => code));
        yield say(await Promise.race(calls));`),
    ]);
    expect(await said(setting.it, { host })).toBe("rate_limited");
    for (const end of release) end();
  });

  it("with too large an answer is refused, and costs the run nothing", async () => {
    const host = new FakeRunHost({ tools: { big: { run: () => "x".repeat(9 * 1024 * 1024) } } });
    await using setting = await aSetting([
      aPackage('yield say(await host.callTool({ tool_name: "big" }).catch(({ code }) => code));'),
    ]);
    expect(await said(setting.it, { host })).toBe("payload_too_large");
  });
});

describe("a stopped run", () => {
  it("is told to the runner, which ends by itself where it declares to", async () => {
    const body = `
      yield delta("begun");
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      yield say(signal.reason.message);`;
    const runners = { default: { capabilities: { streaming: true, interrupt: true } } };
    await using setting = await aSetting([aPackage(body, { runners })]);
    const controller = new AbortController();
    const seen: string[] = [];
    for await (const result of start(setting.it, { signal: controller.signal })) {
      seen.push(JSON.stringify(result.data));
      controller.abort(new ServiceError("cancelled", "Stopped by the test."));
    }
    expect(seen).toHaveLength(2);
    expect(seen[1]).toContain("Stopped by the test.");
  });

  it("is left at once where the runner does not declare that it can be interrupted", async () => {
    await using setting = await aSetting([aPackage('yield delta("begun"); await new Promise(() => {});')]);
    const controller = new AbortController();
    const reason = new ServiceError("cancelled", "Stopped by the test.");
    const read = async () => {
      for await (const _result of start(setting.it, { signal: controller.signal })) controller.abort(reason);
    };
    await expect(read()).rejects.toBe(reason);
  });

  it("makes no call to the host any more", async () => {
    const host = new FakeRunHost();
    const body = `
      if (context.input.text === "second") {
        await new Promise((resolve) => setTimeout(resolve, 300));
        yield say("done");
        return;
      }
      yield delta("begun");
      await new Promise((resolve) => signal.addEventListener("abort", () => setTimeout(resolve, 50)));
      await host.getPrompt().catch(() => {});
      writeSync(3, JSON.stringify({ type: "call", id: 77, run_id: context.run_id, action: "get_prompt", payload: {} }) + "\\n");`;
    await using setting = await aSetting([aPackage(body)]);
    for await (const _result of start(setting.it, { host })) break;
    expect(await said(setting.it, { runId: "run_2", text: "second" })).toBe("done");
    expect(host.actions).toEqual([]);
    expect(setting.it.logger.text()).toContain("A host call of a package was refused.");
  });
});

describe("a slow reader", () => {
  it("holds the runner back: no more results are on their way than the credit", async () => {
    const body = `
      let made = 0;
      const end = () => host.setState({ scope: "runner", key: "made", value: made });
      for (; made < 1000; made += 1) { await end(); yield delta("x".repeat(1000)); }`;
    await using setting = await aSetting([aPackage(body)]);
    const host = new FakeRunHost();
    const results = start(setting.it, { host })[Symbol.asyncIterator]();
    await results.next();
    const made = () => host.state.values.get("runner")?.get("made");
    await expect.poll(made).toBeGreaterThanOrEqual(16);
    await collect(setting.it, { runId: "run_2", runnerName: "none" }).catch(() => undefined);
    expect(made()).toBeLessThan(20);
    await results.return?.();
  });
});

function tool(name: string) {
  return { packageId: "acme/echo", name };
}

describe("a tool of a package", () => {
  it("gives what it returns, and its failure as an outcome", async () => {
    await using setting = await aSetting([aPackage("")]);
    const { packages } = setting.it;
    expect(await packages.callTool(tool("double"), { of: 4 }, CALL)).toEqual({ ok: true, result: 8 });
    expect(await packages.callTool(tool("fails"), {}, CALL)).toEqual({ ok: false, error: "no such number" });
    expect(await packages.callTool(tool("ends"), {}, CALL)).toMatchObject({ ok: false });
    expect(await packages.callTool(tool("double"), { of: 1 }, CALL)).toEqual({ ok: true, result: 2 });
    expect(await packages.callTool({ packageId: "acme/none", name: "double" }, {}, CALL)).toMatchObject({
      ok: false,
      error: 'The package "acme/none" is not installed.',
    });
  });

  it("is stopped with its caller", async () => {
    await using setting = await aSetting([aPackage("")]);
    const controller = new AbortController();
    const reason = new ServiceError("cancelled", "Stopped by the test.");
    const call = setting.it.packages.callTool(tool("hangs"), {}, { signal: controller.signal });
    controller.abort(reason);
    await expect(call).rejects.toBe(reason);
  });
});

describe("an event for a package", () => {
  it("is waited for as long as the setting says", async () => {
    await using setting = await aSetting([aPackage("")], { eventMs: 200 });
    const { packages } = setting.it;
    const asked = packages.offerEvent("acme/echo", aPluginEvent("hang"), CALL);
    await expect(asked).rejects.toMatchObject({ code: "runner.timeout" });
  });
});

describe("the process of a package", () => {
  it("has nothing of the service's environment but what it is given", async () => {
    const packageEnvironment = { "acme/echo": { ACME_KEY: "k" }, "acme/other": { OTHER: "o" } };
    await using setting = await aSetting([aPackage("yield say(process.env);")], { packageEnvironment });
    expect(await said(setting.it)).toEqual({ PATH: process.env["PATH"], ACME_KEY: "k" });
  });

  it("that cannot load its entry costs the run, and says why in the log", async () => {
    await using setting = await aSetting([{ ...aPackage(""), entry: 'import "no-such-module";' }]);
    await expect(collect(setting.it)).rejects.toMatchObject({ code: "runner.error" });
    expect(setting.it.logger.text()).toContain("ERR_MODULE_NOT_FOUND");
  });

  it("that never comes up is given up after its time", async () => {
    await using setting = await aSetting(
      [{ ...aPackage(""), entry: "await new Promise(() => setInterval(() => {}, 1e6));" }],
      {
        startMs: 500,
      },
    );
    await expect(collect(setting.it)).rejects.toThrow(/could not be started/);
  });

  it("takes what it started along when it ends", async () => {
    const body = `
      const { spawn } = await import("node:child_process");
      const child = spawn("sleep", ["987654"], { stdio: "ignore" });
      yield say(child.pid);
      await new Promise(() => {});`;
    const setting = await aSetting([aPackage(body)]);
    let pid = 0;
    for await (const result of start(setting.it)) {
      if (result.type === "message.completed") pid = Number(result.data.message.content);
      break;
    }
    expect(isRunning(pid, "sleep")).toBe(true);
    await setting[Symbol.asyncDispose]();
    await expect.poll(() => isRunning(pid, "sleep")).toBe(false);
  });

  it("holds no descriptor of the service by what has left its process group", async () => {
    const body = `
      const { spawn } = await import("node:child_process");
      const child = spawn("sleep", ["60"], { stdio: "inherit", detached: true });
      setTimeout(() => process.kill(process.pid, "SIGKILL"), 300);
      yield say(child.pid);
      await new Promise(() => {});`;
    const before = openDescriptors();
    await using setting = await aSetting([aPackage(body)]);
    let pid = 0;
    for await (const result of start(setting.it)) {
      if (result.type === "message.completed") pid = Number(result.data.message.content);
      break;
    }
    await expect.poll(openDescriptors, { timeout: 5000 }).toBe(before);
    expect(isRunning(pid, "sleep")).toBe(true);
    process.kill(pid, "SIGKILL");
  });

  it("owes no more answers than it reads: one that only asks is found to hang", async () => {
    const body = `
      const call = JSON.stringify({ type: "call", id: 1, action: "x".repeat(200), payload: 1 }) + "\\n";
      const sign = JSON.stringify({ type: "alive" }) + "\\n";
      const bytes = Buffer.from((call.repeat(200) + sign).repeat(20));
      for (let at = 0; ; at %= bytes.length)
        try { at += writeSync(3, bytes, at); } catch (error) { if (error.code !== "EAGAIN") throw error; }`;
    await using setting = await aSetting([aPackage(body)], { hangMs: 1000 });
    await expect(collect(setting.it)).rejects.toMatchObject({ code: "runner.timeout" });
  });

  it("is not blamed for what was on its way when a run of it was left", async () => {
    const strays = `
      const stray = JSON.stringify({ type: "ended", run_id: "run_of_nobody" }) + "\\n";
      const bytes = Buffer.from(stray.repeat(5008));
      for (let at = 0; at < bytes.length; )
        try { at += writeSync(3, bytes, at); } catch (error) { if (error.code !== "EAGAIN") throw error; }
      yield say("sound");`;
    await using setting = await aSetting([aPackage(strays)]);
    expect(await said(setting.it, { runId: "run_2" })).toBe("sound");
    expect(await said(setting.it, { runId: "run_3" })).toBe("sound");
    await expect(said(setting.it, { runId: "run_4" })).rejects.toMatchObject({ code: "runner.protocol" });
  });

  it("is changed and removed with its directory, while what it is at goes on", async () => {
    const first = aPackage(`
      yield delta("begun");
      await new Promise((resolve) => setTimeout(resolve, 400));
      yield say("old");`);
    await using setting = await aSetting([first]);
    const { packages, directory } = setting.it;
    const results = start(setting.it)[Symbol.asyncIterator]();
    await results.next();
    const { generation } = packages;
    const place = await writePackage(directory, aPackage('yield say("new code");'));
    await packages.list(CALL);
    expect(packages.generation).toBeGreaterThan(generation);
    expect(await said(setting.it, { runId: "run_2" })).toBe("new code");
    expect(JSON.stringify((await results.next()).value)).toContain("old");
    await results.return?.();
    await rm(place, { recursive: true });
    expect(await packages.list(CALL)).toEqual([]);
    await expect(collect(setting.it)).rejects.toMatchObject({ code: "runner.not_found" });
  });

  it("raises the generation when it is started again", async () => {
    await using setting = await aSetting([aPackage("process.exit(1);")]);
    const { packages } = setting.it;
    await expect(collect(setting.it)).rejects.toMatchObject({ code: "runner.error" });
    const { generation } = packages;
    await expect(collect(setting.it)).rejects.toMatchObject({ code: "runner.error" });
    expect(packages.generation).toBe(generation + 1);
  });
});

function isRunning(pid: number, name: string): boolean {
  if (!readdirSync("/proc").includes(String(pid))) return false;
  try {
    const [, comm = "", state = ""] = /\((.*)\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8")) ?? [];
    return comm === name && state !== "Z";
  } catch {
    return false;
  }
}

function openDescriptors(): number {
  return readdirSync("/proc/self/fd").length;
}
