import { afterEach, describe, expect, it } from "vitest";
import type { BytePipe } from "../../../../src/adapters/mcp/byte-pipe.js";
import { spawnOnHost } from "../../../../src/adapters/mcp/host-process.js";
import { McpBoxServer } from "../../../../src/adapters/mcp/mcp-box-server.js";
import type { BoxProcess, ExecEvent, SpawnRequest } from "../../../../src/ports/box-handle.js";
import type { ToolEvent } from "../../../../src/ports/tool.js";
import type { RunToolBox, ToolScope } from "../../../../src/ports/tool-source.js";
import { FakeClock } from "../../../fakes/fake-clock.js";
import { KeptLogger } from "../../../fakes/kept-logger.js";
import { mcpCommand } from "../../../support/mcp-programs.js";
import { textLike } from "../../../support/text-like.js";
import { FakeToolBox } from "../../tools/fake-tool-box.js";

const { signal } = new AbortController();

/** A box whose processes are programs of this machine, with what of it is held and let go. */
class ProgramBox {
  readonly spawned: SpawnRequest[] = [];
  held = 0;
  readonly #releases = new Map<string, Array<() => Promise<void>>>();

  of(runId: `run_${string}`): RunToolBox {
    const box = new FakeToolBox();
    return Object.assign(box, {
      runId,
      hold: async () => this.#hold(),
      onRelease: (release: () => Promise<void>) => {
        this.#releases.set(runId, [...(this.#releases.get(runId) ?? []), release]);
      },
    });
  }

  async release(runId: string): Promise<void> {
    for (const release of this.#releases.get(runId) ?? []) await release();
    this.#releases.delete(runId);
  }

  #hold() {
    this.held += 1;
    const handle = { ...new FakeToolBox().handle, spawn: (request: SpawnRequest) => this.#spawn(request) };
    return {
      handle,
      [Symbol.asyncDispose]: async () => {
        this.held -= 1;
      },
    };
  }

  async #spawn(request: SpawnRequest): Promise<BoxProcess> {
    this.spawned.push(request);
    return toProcess(await spawnOnHost({ command: request.argv, env: request.env }, { signal }));
  }
}

function toProcess(pipe: BytePipe): BoxProcess {
  return {
    events: outputOf(pipe.output),
    write: (bytes, options) => pipe.write(bytes, options),
    endInput: async () => undefined,
    resize: () => undefined,
    terminate: () => undefined,
    kill: () => undefined,
    [Symbol.asyncDispose]: () => pipe[Symbol.asyncDispose](),
  };
}

async function* outputOf(output: AsyncIterable<Uint8Array>): AsyncGenerator<ExecEvent, void> {
  yield { type: "output", stream: "stderr", bytes: Buffer.from("starting\n") };
  for await (const bytes of output) yield { type: "output", stream: "stdout", bytes };
}

function scopeOf(box: RunToolBox | null): ToolScope {
  return { tenant: "main", allowedPackages: null, wants: () => true, box };
}

async function call(of: McpBoxServer, run: RunToolBox, name = "search"): Promise<ToolEvent | null> {
  const { tools } = await of.list(scopeOf(run), { signal });
  const resource = tools.find(({ tool_name }) => tool_name === name);
  if (resource === undefined) throw new Error(`There is no tool ${name}.`);
  const given = { id: "call_1", resource, input: { query: "a" } };
  for await (const event of of.run(given, run, { signal })) return event;
  return null;
}

describe("McpBoxServer", () => {
  const clock = new FakeClock();
  const deps = { clock, logger: new KeptLogger(), version: "1.2.3" };
  let box = new ProgramBox();
  const server = (command = mcpCommand("inner")) =>
    new McpBoxServer(deps, { id: "inner", agentRead: true, command, env: { A: "1" } });

  afterEach(async () => {
    for (const run of ["run_1", "run_2"]) await box.release(run);
    box = new ProgramBox();
  });

  it("has no tools for a run without a box, says so, and starts nothing", async () => {
    const { tools, warnings } = await server().list(scopeOf(null), { signal });
    expect(tools).toEqual([]);
    expect(warnings.map(({ message }) => message)).toEqual([
      'The tools of mcp "inner" are missing: they run in a box, and this run has none.',
    ]);
    expect(box.spawned).toEqual([]);
  });

  it("lists once for a session, lets the box go after it, and lists again when the time is over", async () => {
    const of = server();
    const run = box.of("run_1");
    const { tools } = await of.list(scopeOf(run), { signal });
    expect(tools[0]).toMatchObject({ source: "mcp", source_id: "inner", effect: { kind: "box.exec" } });
    expect(box.held).toBe(0);
    await of.list(scopeOf(run), { signal });
    expect(box.spawned).toHaveLength(1);
    expect(box.spawned[0]).toMatchObject({ workdir: "/workspace", env: { A: "1" }, terminal: null });
    clock.advance(600_001);
    await of.list(scopeOf(run), { signal });
    expect(box.spawned).toHaveLength(2);
  });

  it("keeps one program for all runs of a box, until the last of them lets the box go", async () => {
    const of = server();
    const [one, two] = [box.of("run_1"), box.of("run_2")];
    expect(await call(of, one)).toMatchObject({
      outcome: { ok: true, result: "inner found a, at most all" },
    });
    expect(await call(of, two)).toMatchObject({ outcome: { ok: true } });
    expect(await call(of, one, "image")).toMatchObject({
      outcome: { ok: true, result: textLike(/kept as \/workspace\//) },
    });
    expect([box.spawned.length, box.held]).toEqual([2, 1]);
    await box.release("run_1");
    expect(box.held).toBe(1);
    expect(await call(of, two)).toMatchObject({ outcome: { ok: true } });
    await box.release("run_2");
    expect([box.spawned.length, box.held]).toEqual([2, 0]);
  });

  it("starts the program again after it ended", async () => {
    const of = server();
    const run = box.of("run_1");
    expect(await call(of, run, "crash")).toMatchObject({
      outcome: { ok: false, error: 'The MCP server "inner" in the box ended.' },
    });
    expect(await call(of, run)).toMatchObject({ outcome: { ok: true } });
    expect(box.held).toBe(1);
  });

  it("tells what a program said that does not start, and holds nothing", async () => {
    const of = server([process.execPath, "-e", "process.exit(1)"]);
    await expect(of.list(scopeOf(box.of("run_1")), { signal })).rejects.toMatchObject({
      code: "outbound.failed",
      message: 'The MCP server "inner" did not start in the box: starting.',
    });
    expect(box.held).toBe(0);
  });

  it("answers a call without a box", async () => {
    const of = server();
    const { tools } = await of.list(scopeOf(box.of("run_1")), { signal });
    const [resource] = tools;
    if (resource === undefined) throw new Error("There is no tool.");
    const events: ToolEvent[] = [];
    for await (const event of of.run({ id: "call_1", resource, input: {} }, null, { signal }))
      events.push(event);
    expect(events).toEqual([
      { type: "outcome", outcome: { ok: false, error: "The tool needs a bound box." } },
    ]);
  });
});
