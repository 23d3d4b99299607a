/** An engine that is not there, goes away and comes back (box §3, §4.6, §13, §16.5). */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, inject, it, vi } from "vitest";
import { z } from "zod";
import { calls, text } from "../fakes/scripted-model.js";
import { lastToolResults, runs, saysStdout } from "../support/agent-script.js";
import { EngineProxy } from "../support/engine-proxy.js";
import { proves } from "../support/proves.js";
import { attached, chatMessage, SharedService } from "../support/shared-service.js";
import { textLike } from "../support/text-like.js";

const hasEngine = inject("dockerAvailable");

const readySchema = z.object({
  status: z.string(),
  parts: z.array(z.object({ name: z.string(), ok: z.boolean(), reason: z.string().nullable() })),
});
const sessionsSchema = z.object({ data: z.tuple([z.object({ id: z.string() })]) });
const troubleSchema = z.object({ level: z.string(), message: z.string() });

let service: SharedService;

afterEach(async () => service[Symbol.asyncDispose](), 60_000);

async function begin(host: string, boxes: Readonly<Record<string, unknown>> = {}): Promise<void> {
  service = await SharedService.start({ boxes: { ...boxes, engines: [{ name: "local", host }] } });
}

function troubles(): readonly string[] {
  return service.takeTroubles().map((line) => troubleSchema.parse(JSON.parse(line)).message);
}

async function onlySession(): Promise<string> {
  const answer: unknown = await (await service.fetch("/v1/sessions")).json();
  return sessionsSchema.parse(answer).data[0].id;
}

async function farDirectory(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = join(await mkdtemp(join(tmpdir(), "berth-")), "far".repeat(30));
  await mkdir(path);
  return { path, [Symbol.asyncDispose]: async () => rm(dirname(path), { recursive: true, force: true }) };
}

describe.skipIf(!hasEngine)("an engine", () => {
  it("that does not answer fails the runs that need a box, and readiness names it", async () => {
    proves("KEY-16", "KEY-17", "KEY-19");
    await begin("unix:///var/run/berth-no-such-engine.sock");
    using model = service.script();
    const run = await service.send(chatMessage("one", "Look", [attached("a.txt", "a")]));
    expect(run).toMatchObject({
      status: "failed",
      session: { key: "person_one" },
      error: { code: "box.engine_unavailable", retryable: true },
    });
    expect(run.error?.hint).toContain("switched off");
    expect(JSON.stringify(run)).not.toContain("/var/run");
    expect(model.requests).toEqual([]);
    const status: unknown = await (await service.fetch("/v1/boxes/status")).json();
    expect(status).toMatchObject({
      enabled: true,
      available: false,
      limit: null,
      remaining: null,
      reason: textLike(/engine.*reached/),
    });
    const response = await service.fetch("/readyz");
    expect(response.status).toBe(503);
    const ready = readySchema.parse(await response.json());
    expect(ready.parts.filter(({ ok }) => !ok)).toEqual([
      { name: "boxes", ok: false, reason: textLike(/engine.*reached/) },
    ]);
    expect(troubles()).toEqual(["The engine is not available.", "A request failed."]);
  });

  it("that does not answer stops nobody who needs no box", async () => {
    await begin("unix:///var/run/berth-no-such-engine.sock", { enabled: false });
    using model = service.script(text("hello"));
    const run = await service.send(chatMessage("one", "Hello"));
    expect(run).toMatchObject({ status: "completed", session: null, message: { content: "hello" } });
    expect(model.request(0).tools).toEqual([]);
    const status: unknown = await (await service.fetch("/v1/boxes/status")).json();
    expect(status).toMatchObject({ enabled: false, available: false });
    expect((await service.fetch("/readyz")).status).toBe(200);
    expect(troubles()).toEqual([]);
  });

  it("lends its tools only while it is there", async () => {
    proves("TOOL-01");
    await using proxy = await new EngineProxy().mend();
    await proxy.cut();
    await begin(proxy.address);
    using model = service.script(runs("echo back"), saysStdout());
    const without = await service.send(chatMessage("one", "Hello"));
    expect(without).toMatchObject({ status: "failed", error: { code: "box.engine_unavailable" } });
    expect(model.requests).toEqual([]);
    await proxy.mend();
    const again = await service.send(chatMessage("one", "Hello again"));
    expect(again).toMatchObject({ status: "completed", message: { content: "back\n" } });
    expect(model.request(0).tools.map(({ name }) => name)).toEqual([
      "edit",
      "exec",
      "export_box_files",
      "glob",
      "grep",
      "job",
      "read",
      "write",
    ]);
    expect((await service.fetch("/readyz")).status).toBe(200);
    expect(troubles()).toEqual(["The engine is not available."]);
  });

  it("that goes away between the list of tools and a call is refused at the call; the run goes on", async () => {
    proves("TOOL-10");
    await using proxy = await new EngineProxy().mend();
    await begin(proxy.address);
    using model = service.script(
      runs("echo here > /workspace/kept.txt; cat /workspace/kept.txt"),
      async function* (...call) {
        const session = await onlySession();
        await proxy.cut();
        // Whoever needs the engine first finds out; the box itself goes on over its socket.
        expect((await service.fetch(`/v1/sessions/${session}/files?path=/workspace`)).status).toBe(503);
        yield* calls([
          { name: "exec", arguments: { command: "echo lost" } },
          { name: "read", arguments: { path: "/workspace/kept.txt" } },
          { name: "export_box_files", arguments: { paths: ["/workspace/kept.txt"] } },
        ])(...call);
      },
      text("The engine is gone."),
      runs("cat /workspace/kept.txt"),
      saysStdout(),
    );
    const run = await service.send(chatMessage("one", "Work"));
    expect(run).toMatchObject({
      status: "completed",
      message: { content: "The engine is gone." },
      deliveries: [],
    });
    const results = lastToolResults(model.request(2));
    expect(results).toHaveLength(3);
    for (const result of results)
      expect(result).toMatch(/^Error: .*The engine could not be reached.*Check that/);
    expect(troubles()).toEqual(["The engine is not available.", "A request failed."]);
    await proxy.mend();
    const next = await service.send(chatMessage("one", "And now?"));
    expect(next).toMatchObject({ status: "completed", message: { content: "here\n" } });
    expect(next.session).toEqual(run.session);
  });

  it("that goes away during a command it carries never makes a success of it, and leaves nothing running", async () => {
    // No socket has so long a path: the box is reached through the engine alone.
    await using far = await farDirectory();
    vi.stubEnv("TMPDIR", far.path);
    await using proxy = await new EngineProxy().mend();
    await begin(proxy.address);
    using model = service.script(
      runs("setsid sleep 612 & echo begun; sleep 612; echo finished"),
      text("The engine is gone."),
      runs('pgrep -cu "$(id -u)" sleep; ls /workspace'),
      saysStdout(),
    );
    const running = service.send(chatMessage("one", "Work"));
    await expect.poll(() => service.countProcesses("sleep 612"), { timeout: 20_000 }).toBeGreaterThan(1);
    await proxy.cut();
    const run = await running;
    expect(run).toMatchObject({ status: "completed", message: { content: "The engine is gone." } });
    const [result] = lastToolResults(model.request(1));
    expect(result).toMatch(/^Error: .*engine/);
    expect(result).not.toContain("finished");
    await expect.poll(() => service.countProcesses("sleep 612"), { timeout: 5000 }).toBe(0);
    expect(new Set([...troubles(), "The box could not be cleared."])).toEqual(
      new Set(["The box could not be cleared.", "The box was left unclean."]),
    );
    await proxy.mend();
    const next = await service.send(chatMessage("one", "And now?"));
    expect(next.message?.content).toMatch(/^0\n/);
    expect(troubles()).toEqual([]);
  });
});
