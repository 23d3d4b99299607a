import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { openMemoryStores } from "../../../../src/adapters/memory/open-memory-stores.js";
import { LocalRunEvents } from "../../../../src/adapters/system/local-run-events.js";
import { ServiceError } from "../../../../src/domain/errors.js";
import type { ToolOutcome, ToolResource } from "../../../../src/domain/tool.js";
import { SecretMask } from "../../../../src/lib/secret-mask.js";
import type { NativeTool, ToolEvent } from "../../../../src/ports/tool.js";
import type { RunToolBox, ToolSource } from "../../../../src/ports/tool-source.js";
import { authoriseTools } from "../../../../src/runs/authorise-tools.js";
import { RunGate } from "../../../../src/runs/host/run-gate.js";
import { ToolCalls } from "../../../../src/runs/host/tool-calls.js";
import { RunRecorder } from "../../../../src/runs/record-run.js";
import { NativeToolSource } from "../../../../src/tools/native-source.js";
import { ToolCatalog } from "../../../../src/tools/tool-catalog.js";
import { FakeClock } from "../../../fakes/fake-clock.js";
import { FakeJobs } from "../../../fakes/fake-jobs.js";
import { FakeMetrics } from "../../../fakes/fake-metrics.js";
import { KeptLogger } from "../../../fakes/kept-logger.js";
import { aBinding, aDescriptor, aTool } from "../../../support/builders.js";
import { proves } from "../../../support/proves.js";
import { aRun } from "../../../support/records.js";
import { BOX_SETTINGS } from "../../../support/run-world.js";

type Work = NativeTool["run"];

const DONE: ToolEvent = { type: "outcome", outcome: { ok: true, result: { done: true } } };
const BOX: RunToolBox = {
  runId: "run_1",
  sessionId: "ses_1",
  inbox: "/workspace/inbox/run_1",
  outbox: "/workspace/outbox/run_1",
  settings: BOX_SETTINGS,
  handle: {
    files: {
      stat: async () => [],
      read: async function* () {
        yield* [];
      },
      write: async () => [],
      list: async () => ({ ok: true, entries: [], truncated: false }),
      remove: async () => [],
      resetDirectories: async () => undefined,
    },
    exec: async function* () {
      yield* [];
    },
    spawn: async () => Promise.reject(new Error("No process.")),
    [Symbol.asyncDispose]: async () => undefined,
  },
  attachments: [],
  jobs: new FakeJobs(),
  exportFiles: async () => ({ ok: false, error: "Nothing." }),
  hold: async () => Promise.reject(new Error("No hold.")),
  onRelease: () => undefined,
};

function aNativeTool(work: Work, fields: Partial<NativeTool> = {}): NativeTool {
  return {
    name: "exec",
    description: "Runs a command.",
    parameters: { type: "object" },
    effect: { kind: "box.files", access: "read", pathFields: [] },
    needsWritableWorkspace: false,
    run: work,
    ...fields,
  };
}

const searchOf = (id: string): ToolResource =>
  aTool({ source: "mcp", source_id: id, tool_name: "search", effect: { kind: "none" } });

/** A server of others with the tool `search`. */
function aServer(id: string, called: string[], run?: ToolSource["run"]): ToolSource {
  return {
    source: "mcp",
    sourceId: id,
    reservedNames: [],
    list: async () => ({ tools: [searchOf(id)], warnings: [] }),
    run:
      run ??
      async function* () {
        called.push(id);
        yield { type: "outcome", outcome: { ok: true, result: `found by ${id}` } };
      },
  };
}

function call(of: ToolCalls, name = "exec", signal = new AbortController().signal): Promise<ToolOutcome> {
  return of.call({ id: "call_1", name, parameters: { command: "ls" } }, { signal });
}

const aborted = (signal: AbortSignal): Promise<unknown> =>
  new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));

describe("ToolCalls", () => {
  const clock = new FakeClock();
  let stores = openMemoryStores({ clock });
  let run = new AbortController();
  let logger = new KeptLogger();
  let metrics = new FakeMetrics();
  let hasBox = true;
  let engineFault: ServiceError | null = null;

  beforeEach(async () => {
    stores = openMemoryStores({ clock });
    run = new AbortController();
    logger = new KeptLogger();
    metrics = new FakeMetrics();
    hasBox = true;
    engineFault = null;
    await stores.runs.create(aRun());
  });

  afterEach(() => void vi.useRealTimers());

  const mask = new SecretMask(["sk-1234567890"]);
  const tools = (
    tool: NativeTool,
    {
      resources = [aTool({ effect: tool.effect })],
      timeoutMs = 1000,
      sources = [],
      otherNames = [],
    }: {
      resources?: ToolResource[];
      timeoutMs?: number;
      sources?: ToolSource[];
      otherNames?: string[];
    } = {},
  ): ToolCalls =>
    new ToolCalls({
      gate: new RunGate({ runId: "run_1", signal: run.signal, logger }),
      recorder: new RunRecorder({ ...stores, events: new LocalRunEvents(), clock, mask }, aRun()),
      clock,
      logger,
      metrics,
      mask,
      resources,
      catalog: new ToolCatalog({
        sources: [new NativeToolSource([tool], { boxesEnabled: true, workspaceMode: "rw" }), ...sources],
        logger,
      }),
      otherNames: new Set(otherNames),
      box: () => (hasBox ? BOX : null),
      requireEngine: async () => {
        if (engineFault !== null) throw engineFault;
      },
      timeoutMs,
    });

  it("runs nothing while the engine is lost", async () => {
    engineFault = new ServiceError("box.engine_unavailable", "The engine could not be reached.");
    const tool = aNativeTool(async function* () {
      yield DONE;
    });
    await expect(call(tools(tool))).rejects.toBe(engineFault);
  });

  it("runs an authorised tool with its input, in the run's box", async () => {
    const seen: unknown[] = [];
    const tool = aNativeTool(async function* (given, box) {
      seen.push(given, box);
      yield DONE;
    });
    expect(await call(tools(tool))).toEqual({ ok: true, result: { done: true } });
    expect(seen).toEqual([{ id: "call_1", input: { command: "ls" } }, BOX]);
  });

  it("says no secret, in live output that cuts one in two, in results and in failures", async () => {
    const tool = aNativeTool(async function* () {
      yield { type: "output", stream: "stdout", text: "key sk-12345" };
      yield { type: "output", stream: "stderr", text: "sk-1234567890" };
      yield { type: "output", stream: "stdout", text: "67890 and sk-12" };
      yield { type: "outcome", outcome: { ok: true, result: { stdout: ["sk-1234567890"] } } };
    });
    expect(await call(tools(tool))).toEqual({ ok: true, result: { stdout: ["[redacted]"] } });
    expect((await stores.runs.eventsAfter("run_1", 0, 10)).map(({ data }) => data["text"])).toEqual([
      "key ",
      "[redacted]",
      "[redacted] and ",
      "sk-12",
    ]);
    const failing = aNativeTool(async function* () {
      yield { type: "outcome", outcome: { ok: false, error: "no sk-1234567890" } };
    });
    expect(await call(tools(failing))).toEqual({ ok: false, error: "no [redacted]" });
  });

  it("puts live output into the run's events, in order, before the outcome", async () => {
    const tool = aNativeTool(async function* () {
      yield { type: "output", stream: "stdout", text: "a" };
      yield { type: "output", stream: "stderr", text: "b" };
      yield DONE;
    });
    await call(tools(tool));
    expect((await stores.runs.eventsAfter("run_1", 0, 10)).map(({ type, data }) => [type, data])).toEqual([
      ["tool.output", { tool_call_id: "call_1", stream: "stdout", text: "a" }],
      ["tool.output", { tool_call_id: "call_1", stream: "stderr", text: "b" }],
    ]);
  });

  it("tells a call that comes before the bind to bind first", async () => {
    proves("KEY-15");
    hasBox = false;
    const tool = aNativeTool(async function* () {
      yield DONE;
    });
    expect(await call(tools(tool))).toEqual({
      ok: false,
      error: "exec needs a box: bind the run's box first, then call it again.",
    });
  });

  describe("authorisation", () => {
    const tool = aNativeTool(async function* () {
      yield DONE;
    });

    it("refuses a tool of the service that the run may not use, and logs it", async () => {
      const refused = {
        code: "host.unauthorized",
        message: 'This run is not authorized for the tool "exec".',
      };
      await expect(call(tools(tool, { resources: [] }))).rejects.toMatchObject(refused);
      await expect(tools(tool, { resources: [] }).detail("exec")).rejects.toMatchObject(refused);
      expect(logger.lines.map(({ level }) => level)).toEqual(["warn", "warn"]);
      expect(metrics.tools).toEqual([]);
    });

    it("says of a name that no tool has that there is none", async () => {
      const missing = { code: "host.not_found", message: 'There is no tool "calculator".' };
      await expect(call(tools(tool), "calculator")).rejects.toMatchObject(missing);
      await expect(tools(tool).detail("calculator")).rejects.toMatchObject(missing);
    });

    it("goes by the frozen source: a tool of another source does not reach the native one of its name", async () => {
      const resources = [aTool({ source: "mcp", source_id: "server-1" })];
      await expect(call(tools(tool, { resources }))).rejects.toMatchObject({ code: "host.unauthorized" });
    });

    it("runs nothing once the run was stopped", async () => {
      run.abort(new ServiceError("cancelled", "The run was cancelled."));
      await expect(call(tools(tool))).rejects.toMatchObject({ code: "cancelled" });
      await expect(tools(tool).detail("exec")).rejects.toMatchObject({ code: "cancelled" });
    });

    it("describes a tool as it stands in the resources, as one without fields where they have no schema", async () => {
      const resources = [aTool({ description: "Frozen.", parameters: null })];
      expect(await tools(tool, { resources }).detail("exec")).toEqual({
        description: "Frozen.",
        parameters: { type: "object", properties: {} },
      });
      const parameters = { type: "object", properties: { command: { type: "string" } } };
      const described = tools(tool, { resources: [aTool({ parameters })] });
      expect((await described.detail("exec")).parameters).toEqual(parameters);
    });

    it("refuses a tool that is there and not the run's, and names none that nobody has", async () => {
      const of = tools(tool, { otherNames: ["search"] });
      await expect(call(of, "search")).rejects.toMatchObject({ code: "host.unauthorized" });
      await expect(call(of, "find")).rejects.toMatchObject({ code: "host.not_found" });
    });

    it("calls the one server that is authorised, where two of them offer a tool of that name", async () => {
      proves("AUTH-09");
      const called: string[] = [];
      const sources = ["server-a", "server-b"].map((id) => aServer(id, called));
      const offered = ["server-a", "server-b"].map((id) => searchOf(id));
      const binding = aBinding({ config: { tools: ["mcp:server-b/search"] } });
      const { granted } = authoriseTools(binding, aDescriptor(), { tools: offered, hostNames: new Set() });
      const of = tools(tool, { resources: [...granted], sources });
      expect(await call(of, "search")).toEqual({ ok: true, result: "found by server-b" });
      expect(called).toEqual(["server-b"]);
    });

    it("calls a tool that touches no box before the bind, and without an engine", async () => {
      hasBox = false;
      engineFault = new ServiceError("box.engine_unavailable", "The engine could not be reached.");
      const of = tools(tool, { resources: [searchOf("server-a")], sources: [aServer("server-a", [])] });
      expect(await call(of, "search")).toMatchObject({ ok: true });
    });

    it("refuses a tool whose source is gone", async () => {
      const of = tools(tool, { resources: [searchOf("server-a")] });
      await expect(call(of, "search")).rejects.toMatchObject({ code: "host.unauthorized" });
    });
  });

  describe("limits", () => {
    it("stops a tool that does not finish in time, and says so with the limit", async () => {
      const steps: string[] = [];
      const tool = aNativeTool(async function* (_given, _box, { signal }) {
        await aborted(signal);
        steps.push("stopped");
        yield DONE;
      });
      expect(await call(tools(tool, { timeoutMs: 20 }))).toEqual({
        ok: false,
        error: "exec did not finish within 0.02 s and was stopped. Ask for less at once.",
      });
      expect(steps).toEqual(["stopped"]);
    });

    it("does not wait for ever for a tool that does not react", async () => {
      const tool = aNativeTool(async function* () {
        await new Promise(() => undefined);
        yield DONE;
      });
      expect(await call(tools(tool, { timeoutMs: 10 }))).toMatchObject({ ok: false });
    });

    it("leaves commands to the limit that they have themselves", async () => {
      vi.useFakeTimers({ toFake: ["setTimeout"] });
      const tool = aNativeTool(
        async function* (_given, _box, { signal }) {
          vi.advanceTimersByTime(3_600_000);
          yield signal.aborted ? DONE : { type: "outcome", outcome: { ok: true, result: "in time" } };
        },
        { effect: { kind: "box.exec" } },
      );
      expect(await call(tools(tool, { timeoutMs: 5 }))).toEqual({ ok: true, result: "in time" });
    });

    it("holds commands of other sources to the limit", async () => {
      const slow = aServer("server-a", [], async function* (_call, _box, { signal }) {
        await aborted(signal);
        yield DONE;
      });
      const resources = [{ ...searchOf("server-a"), effect: { kind: "box.exec" } as const }];
      const of = tools(
        aNativeTool(async function* () {
          yield DONE;
        }),
        { resources, sources: [slow], timeoutMs: 20 },
      );
      expect(await call(of, "search")).toMatchObject({ ok: false });
    });

    it("stops with the run, for the run's reason, and not for its own limit", async () => {
      const tool = aNativeTool(async function* (_given, _box, { signal }) {
        setImmediate(() => run.abort(new ServiceError("runner.timeout", "The run passed its deadline.")));
        await aborted(signal);
        yield DONE;
      });
      await expect(call(tools(tool))).rejects.toMatchObject({ code: "host.deadline_exceeded" });
    });

    it("stops with the call's own signal", async () => {
      const controller = new AbortController();
      const tool = aNativeTool(async function* (_given, _box, { signal }) {
        setImmediate(() => controller.abort(new Error("batch closed")));
        await aborted(signal);
        yield DONE;
      });
      await expect(call(tools(tool), "exec", controller.signal)).rejects.toThrow("batch closed");
    });
  });

  describe("failures", () => {
    it("gives a failure of the tool back as data", async () => {
      const outcome = { ok: false, error: "No such file.", result: { exit_code: 1 } } as const;
      const tool = aNativeTool(async function* () {
        yield { type: "outcome", outcome };
      });
      expect(await call(tools(tool))).toEqual(outcome);
      expect(metrics.tools).toEqual([{ tool: "exec", ok: false, durationMs: 0 }]);
    });

    it("throws what the engine fails with", async () => {
      const tool = aNativeTool(() => {
        throw new ServiceError("box.engine_unavailable", "The engine does not answer.");
      });
      await expect(call(tools(tool))).rejects.toMatchObject({ code: "box.engine_unavailable" });
      expect(metrics.tools).toMatchObject([{ ok: false }]);
      expect(logger.lines).toEqual([]);
    });

    it("logs what a tool throws without an explanation", async () => {
      const tool = aNativeTool(() => {
        throw new TypeError("broken");
      });
      await expect(call(tools(tool))).rejects.toThrow("broken");
      expect(logger.lines).toMatchObject([{ level: "error", fields: { tool: "exec" } }]);
    });

    it("takes a tool that says nothing for broken", async () => {
      const tool = aNativeTool(async function* () {
        yield* [];
      });
      await expect(call(tools(tool))).rejects.toMatchObject({ code: "runner.tool_error" });
    });
  });

  it("counts calls of others by their source, whatever they call their tools", async () => {
    const tool = aNativeTool(async function* () {
      yield DONE;
    });
    const of = tools(tool, { resources: [searchOf("server-a")], sources: [aServer("server-a", [])] });
    await call(of, "search");
    expect(metrics.tools).toMatchObject([{ tool: "mcp:server-a", ok: true }]);
  });

  it("counts calls and how long they took", async () => {
    const tool = aNativeTool(async function* () {
      clock.advance(250);
      yield DONE;
    });
    await call(tools(tool));
    expect(metrics.tools).toEqual([{ tool: "exec", ok: true, durationMs: 250 }]);
  });
});
