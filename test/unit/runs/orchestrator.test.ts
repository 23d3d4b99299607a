import { EventEmitter, getEventListeners, once } from "node:events";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ServiceError } from "../../../src/domain/errors.js";
import { findUnansweredCalls } from "../../../src/domain/history.js";
import { isTerminal, runSchema, TERMINAL_EVENTS } from "../../../src/domain/run.js";
import type { RunHost } from "../../../src/ports/run-host.js";
import type { RunRecord } from "../../../src/ports/run-store.js";
import { buildTrigger } from "../../../src/runs/build-trigger.js";
import { nativeTools } from "../../../src/tools/native/index.js";
import {
  completed,
  delta,
  failed,
  message,
  type Play,
  type ScriptedResult,
  ScriptedRunner,
} from "../../fakes/scripted-runner.js";
import { aDescriptor, anEvent, aPipeline, aPolicy, LOCAL_AGENT } from "../../support/builders.js";
import { proves } from "../../support/proves.js";
import { aFile, aRun, aTranscriptItem } from "../../support/records.js";
import { aRunWorld, NEVER, type RunWorld, type WorldOptions } from "../../support/run-world.js";

const CANCELLED = new ServiceError("cancelled", "The run was cancelled.");

const CALL = { signal: NEVER };
const ENTRY = { scope: "runner", key: "a" };
const REQUEST = { modelId: "main", messages: [], tools: [] };

/** A world whose runner plays this. */
function playing(
  play: Play,
  options: WorldOptions & { capabilities?: Record<string, boolean> } = {},
): RunWorld {
  const { capabilities = { streaming: true } } = options;
  return aRunWorld({
    ...options,
    runner: new ScriptedRunner({ play, descriptor: aDescriptor({ capabilities }) }),
  });
}

function yielding(...results: readonly ScriptedResult[]): RunWorld {
  return aRunWorld({ runner: new ScriptedRunner({ results }) });
}

function withFiles(content: string, ...file_ids: string[]): ScriptedResult {
  return { type: "message.completed", data: { message: { role: "assistant", content }, file_ids } };
}

const aborted = (signal: AbortSignal): Promise<unknown> =>
  new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));

describe("Orchestrator: a run that completes", () => {
  it("goes from start to one terminal event, numbered without gaps", async () => {
    await using world = yielding(delta("Hel"), delta("Hello"), message("Hello"), completed());
    const run = await world.execute(aRun());
    const events = await world.eventsOf("run_1");
    expect(events.map(({ type, sequence }) => [sequence, type])).toEqual([
      [1, "run.started"],
      [2, "message.delta"],
      [3, "message.delta"],
      [4, "message.completed"],
      [5, "run.completed"],
    ]);
    expect(events[0]?.data).toEqual({
      session: null,
      config_source: "id",
      pipeline: "default",
      runner: LOCAL_AGENT,
    });
    expect(run).toMatchObject({
      state: "completed",
      startedAt: world.clock.now(),
      endedAt: world.clock.now(),
      message: { content: "Hello", partial: false },
      finishReason: "stop",
      error: null,
    });
    expect(runSchema.parse(events.at(-1)?.data)).toMatchObject({ id: "run_1", status: "completed" });
  });

  it("has the user's message in the transcript before the runner starts, and one final answer after", async () => {
    const seen: unknown[] = [];
    await using world = playing(async function* (context, host) {
      const page = await host.historyPage({ direction: "forward" }, { signal: NEVER });
      seen.push(...page.items.map((item) => [item.message.content, item.event_id]));
      yield { ...message("Hi"), run_id: context.run_id };
    });
    await world.execute(aRun());
    expect(seen).toEqual([["Plot the table.", "host:1"]]);
    expect(await world.transcriptOf("conversation-1")).toEqual([
      { message: { role: "user", content: "Plot the table." }, partial: false },
      { message: { role: "assistant", content: "Hi" }, partial: false },
    ]);
  });

  it("has the event recorded before the user's message, and both before the runner starts", async () => {
    const runner = new ScriptedRunner();
    await using world = aRunWorld({ runner });
    await world.execute(aRun());
    const page = { direction: "forward" as const, from: null, limit: 9 };
    const scope = { tenant: "main", conversation: "conversation-1" };
    const [event] = await world.stores.eventRecords.page(scope, page);
    const [entry] = await world.stores.transcripts.page("main", "conversation-1", page);
    expect(event).toMatchObject({ run_id: "run_1", event_id: "host:1", summary: "Plot the table." });
    expect(runner.contexts[0]?.context).toMatchObject({
      event_seq: event?.sequence,
      transcript_seq: entry?.sequence,
      latest_cursor: String(entry?.sequence),
    });
  });

  it("calls no runner and keeps nothing registered where the event cannot be recorded", async () => {
    const runner = new ScriptedRunner();
    await using world = aRunWorld({ runner });
    world.stores.eventRecords.append = () => Promise.reject(new Error("The store is gone."));
    const run = await world.execute(aRun());
    expect(run).toMatchObject({ state: "failed", error: { code: "internal" } });
    expect(runner.contexts).toEqual([]);
    expect(world.active.size).toBe(0);
    expect(await world.transcriptOf("conversation-1")).toEqual([]);
  });

  it("writes an event that is no message as none of the user's", async () => {
    const trigger = buildTrigger(anEvent(), { id: "run_1", chat: null, createdAt: 1_000 });
    await using world = yielding(message("Welcome"), completed());
    await world.execute(aRun({ trigger, input: { text: null, contents: [], attachments: [] } }));
    expect(await world.transcriptOf("conversation-1")).toEqual([
      { message: { role: "assistant", content: "Welcome" }, partial: false },
    ]);
  });

  it("tells the runner of an earlier message of the conversation, not of its own", async () => {
    const runner = new ScriptedRunner();
    await using world = aRunWorld({ runner });
    await world.execute(aRun());
    await world.stores.transcripts.append(aTranscriptItem({ conversation: "other" }));
    await world.execute(aRun({ id: "run_2", conversation: "fresh" }));
    await world.execute(aRun({ id: "run_3" }));
    expect(runner.contexts.map(({ context }) => context.has_history_before)).toEqual([false, false, true]);
  });

  it("gives the runner the deadline that counts from its registration", async () => {
    const runner = new ScriptedRunner();
    const pipeline = aPipeline({ deadlineSec: 60 });
    await using world = aRunWorld({ runner, pipelines: [pipeline] });
    await world.execute(aRun());
    expect(runner.contexts[0]?.runtime.deadline_at).toBe(world.clock.now() / 1000 + 60);
  });

  it("writes the last snapshot of a run that only streamed", async () => {
    await using world = yielding(delta("Hel"), delta("Hello"), completed());
    await world.execute(aRun());
    expect((await world.transcriptOf("conversation-1")).at(-1)).toEqual({
      message: { role: "assistant", content: "Hello" },
      partial: false,
    });
  });

  it("counts as completed where a complete message came and no end", async () => {
    await using world = yielding(message("Hello"));
    expect(await world.execute(aRun())).toMatchObject({ state: "completed", error: null });
  });

  it("reads nothing after the terminal result, and frees the runner", async () => {
    const steps: string[] = [];
    await using world = playing(async function* (context) {
      try {
        yield { ...completed(), run_id: context.run_id };
        steps.push("went on");
        yield { ...message("late"), run_id: context.run_id };
      } finally {
        steps.push("freed");
      }
    });
    await world.execute(aRun());
    expect(steps).toEqual(["freed"]);
    expect((await world.eventsOf("run_1")).map(({ type }) => type)).toEqual(["run.started", "run.completed"]);
  });

  it("tells of warnings of the plan, of bad results and of the runner, in events and in the run", async () => {
    const pipelines = [aPipeline({ policy: aPolicy({ allowed_model_uuids: ["gone"] }) })];
    const results = [
      { type: "foo.bar", data: {} },
      { type: "warning", data: { code: "own", message: "Own." } },
      completed(),
    ];
    await using world = aRunWorld({ pipelines, runner: new ScriptedRunner({ results }) });
    const run = await world.execute(aRun());
    expect(run.warnings.map(({ code }) => code)).toEqual([
      "resources.model_missing",
      "result.unknown_type",
      "own",
    ]);
    expect((await world.eventsOf("run_1")).map(({ type }) => type)).toEqual([
      "run.started",
      "warning",
      "warning",
      "warning",
      "run.completed",
    ]);
  });

  it("counts the run and logs one line of it, without its text", async () => {
    await using world = yielding(message("secret answer"), completed());
    await world.execute(aRun({ input: { text: "secret question", contents: [], attachments: [] } }));
    expect(world.metrics.runs).toEqual([{ runner: LOCAL_AGENT, status: "completed", durationMs: 0 }]);
    expect(world.logger.lines).toMatchObject([
      { level: "info", fields: { runId: "run_1", outcome: "completed", pipeline: "default" } },
    ]);
    expect(world.logger.text()).not.toContain("secret");
  });
});

describe("Orchestrator: a run that fails", () => {
  it("ends with an execution error where the runner throws half-way, and nothing stays registered", async () => {
    proves("FLOW-08");
    await using world = playing(async function* (context) {
      yield { ...delta("Half"), run_id: context.run_id };
      throw new TypeError("cannot read /srv/app/x.js");
    });
    const run = await world.execute(aRun());
    expect(run).toMatchObject({
      state: "failed",
      message: { content: "Half", partial: true },
      error: { code: "runner.error", message: "The runner failed in an unexpected way.", retryable: false },
    });
    expect(world.active.size).toBe(0);
    expect(JSON.stringify(await world.eventsOf("run_1"))).not.toContain("/srv");
    expect(world.logger.lines).toMatchObject([{ level: "error", fields: { code: "runner.error" } }]);
  });

  it("does so where the runner throws before its first result", async () => {
    await using world = playing(() => {
      throw new Error("broken");
    });
    expect((await world.execute(aRun())).error?.code).toBe("runner.error");
  });

  it("keeps code and sense of an error that the runner throws and explains", async () => {
    await using world = playing(() => {
      throw new ServiceError("runner.no_model", "No model.", { hint: "Select one." });
    });
    const run = await world.execute(aRun());
    expect(run.error).toEqual({
      code: "runner.no_model",
      message: "No model.",
      retryable: false,
      hint: "Select one.",
      notice: "The request failed.",
    });
    expect(world.logger.lines).toMatchObject([{ level: "warn", fields: { code: "runner.no_model" } }]);
  });

  it("ends as the runner says, with what it had shown as partial text", async () => {
    await using world = yielding(delta("Half"), failed("runner.llm_error", { retryable: true }));
    expect(await world.execute(aRun())).toMatchObject({
      state: "failed",
      message: { content: "Half", partial: true },
      error: { code: "runner.llm_error", message: "It failed.", retryable: true },
    });
    expect((await world.transcriptOf("conversation-1")).at(-1)).toMatchObject({ partial: true });
    expect((await world.eventsOf("run_1")).at(-1)?.type).toBe("run.failed");
  });

  it.each([
    ["nothing at all", []],
    ["a stream of text alone", [delta("Half")]],
    ["calls alone", [{ type: "tool.call.completed", data: { tool_call_id: "c", tool_name: "t" } }]],
  ])("takes the end of %s without a terminal result for a breach of the protocol", async (_what, results) => {
    await using world = yielding(...results);
    expect((await world.execute(aRun())).error).toMatchObject({ code: "runner.protocol", retryable: false });
  });

  it("ends at once where the runner yields a result of another run", async () => {
    await using world = playing(async function* () {
      yield { ...message("Hi"), run_id: "run_9" };
    });
    expect((await world.execute(aRun())).error?.code).toBe("runner.protocol");
  });

  it("ends where the runner generates too much; the text so far is kept", async () => {
    const large = "x".repeat(700_000);
    await using world = yielding(delta(large), delta(""), delta("Start"), delta(large));
    const run = await world.execute(aRun());
    expect(run).toMatchObject({ state: "failed", error: { code: "run.output_limit", retryable: false } });
    expect(run.message).toEqual({ content: "Start", partial: true });
  });

  it.each([
    ["pipeline.not_found", aRun({ pipeline: "gone" })],
    ["runner.not_found", aRun({ pipeline: "broken" })],
  ])("ends with %s where the configuration has changed since the message came", async (code, run) => {
    const pipelines = [aPipeline(), aPipeline({ id: "broken", runnerId: "plugin:a/b/c" })];
    await using world = aRunWorld({ pipelines });
    expect((await world.execute(run)).error?.code).toBe(code);
    expect((await world.eventsOf("run_1")).map(({ type }) => type)).toEqual(["run.failed"]);
  });

  it("answers calls that were going on, so that the next request is valid", async () => {
    const call = { id: "c1", type: "function", function: { name: "exec", arguments: "{}" } };
    const assistant_message = { role: "assistant", content: "Let me look.", tool_calls: [call] };
    const data = { tool_call_id: "c1", tool_name: "exec", parameters: {}, assistant_message };
    await using world = yielding({ type: "tool.call.started", data }, failed("runner.llm_error"));
    await world.execute(aRun());
    expect((await world.transcriptOf("conversation-1")).map((item) => item.message.content)).toEqual([
      "Plot the table.",
      "Let me look.",
      "Error: interrupted: result unknown",
    ]);
    expect(await world.stores.transcripts.unansweredCalls("run_1")).toEqual([]);
  });

  it("still lists what was exported before, and the attachments", async () => {
    await using world = playing(async function* (context) {
      await world.stores.files.register([aFile()]);
      yield { ...failed("runner.llm_error"), run_id: context.run_id };
    });
    await world.execute(aRun());
    expect((await world.eventsOf("run_1")).at(-1)?.data).toMatchObject({
      deliveries: [{ id: "file_1", state: "pending" }],
    });
  });

  it("refuses a message with a file of another run, and one with a file that was used before", async () => {
    proves("OUT-08");
    await using world = yielding(
      withFiles("Foreign", "file_2"),
      withFiles("Own", "file_1"),
      withFiles("Again", "file_1"),
      completed(),
    );
    await world.stores.files.register([aFile(), aFile({ id: "file_2", runId: "run_0" })]);
    const run = await world.execute(aRun());
    expect(run).toMatchObject({ state: "completed", message: { content: "Own" } });
    expect(run.warnings.map(({ code }) => code)).toEqual(["result.file_refused", "result.file_refused"]);
    expect((await world.transcriptOf("conversation-1")).at(-1)?.message.content).toBe("Own");
  });
});

describe("Orchestrator: a run that is stopped", () => {
  it("ends a runner that sleeps past the deadline, and closes its stream", async () => {
    proves("FLOW-09");
    const closed = new EventEmitter();
    const isClosed = once(closed, "closed");
    await using world = playing(
      async function* (context, _host, { signal }) {
        try {
          yield { ...delta("Half"), run_id: context.run_id };
          await aborted(signal);
          await new Promise((resolve) => setImmediate(resolve));
        } finally {
          closed.emit("closed", "the stream");
        }
      },
      { deadlineSec: 0.02 },
    );
    const run = await world.execute(aRun());
    expect(run).toMatchObject({
      state: "timeout",
      message: { content: "Half", partial: true },
      error: { code: "runner.timeout", retryable: true, message: "The run passed its deadline of 0.02 s." },
    });
    expect((await world.eventsOf("run_1")).at(-1)?.type).toBe("run.failed");
    expect(world.active.size).toBe(0);
    expect(await isClosed).toEqual(["the stream"]);
  });

  it("stops reading when it is cancelled, and the state says so", async () => {
    proves("FLOW-10");
    const steps: string[] = [];
    await using world = playing(async function* (context) {
      yield { ...delta("One"), run_id: context.run_id };
      world.active.stop("run_1", CANCELLED);
      steps.push("cancelled");
      yield { ...delta("Two"), run_id: context.run_id };
      steps.push("went on");
    });
    const run = await world.execute(aRun());
    expect(run).toMatchObject({
      state: "cancelled",
      message: { content: "One", partial: true },
      error: { code: "cancelled" },
    });
    expect(steps).toEqual(["cancelled"]);
    expect((await world.eventsOf("run_1")).at(-1)?.type).toBe("run.cancelled");
  });

  it("is not held up by a runner that does not react", async () => {
    await using world = playing(async function* (context) {
      yield { ...delta("One"), run_id: context.run_id };
      setImmediate(() => world.active.stop("run_1", CANCELLED));
      await new Promise(() => undefined);
    });
    expect((await world.execute(aRun())).state).toBe("cancelled");
    expect(world.active.size).toBe(0);
  });

  it("gives a runner with the capability interrupt time to end by itself, and takes nothing more from it", async () => {
    const steps: string[] = [];
    const play: Play = async function* (context, _host, { signal }) {
      yield { ...delta("One"), run_id: context.run_id };
      setImmediate(() => world.active.stop("run_1", CANCELLED));
      await aborted(signal);
      await new Promise((resolve) => setImmediate(resolve));
      yield { ...completed(), run_id: context.run_id };
      steps.push("ended by itself");
    };
    await using world = playing(play, { capabilities: { streaming: true, interrupt: true } });
    expect((await world.execute(aRun())).state).toBe("cancelled");
    expect(steps).toEqual(["ended by itself"]);
  });

  it("lists no deliveries when it was cancelled", async () => {
    await using world = playing(async function* (context) {
      await world.stores.files.register([aFile()]);
      world.active.stop("run_1", CANCELLED);
      yield { ...completed(), run_id: context.run_id };
    });
    await world.execute(aRun());
    expect((await world.eventsOf("run_1")).at(-1)?.data).toMatchObject({ deliveries: [] });
  });

  it("leaves no listener on the run's signal", async () => {
    const signals: AbortSignal[] = [];
    await using world = playing(async function* (context, host, { signal }) {
      signals.push(signal);
      await host.boxStatus({ signal });
      yield { ...message("Hi"), run_id: context.run_id };
    });
    await world.execute(aRun());
    expect(signals.map((signal) => getEventListeners(signal, "abort").length)).toEqual([0]);
  });
});

describe("Orchestrator: after the run", () => {
  it.each<[string, (host: RunHost) => Promise<unknown>]>([
    ["invoke_llm", (host) => host.invokeModel(REQUEST, CALL)],
    ["invoke_llm_stream", (host) => host.streamModel(REQUEST, CALL)[Symbol.asyncIterator]().next()],
    ["get_tool_detail", (host) => host.getToolDetail("exec", CALL)],
    ["call_tool", (host) => host.callTool({ id: "c", name: "exec", parameters: {} }, CALL)],
    ["get_prompt", (host) => host.getPrompt(CALL)],
    ["history_page", (host) => host.historyPage({ direction: "backward" }, CALL)],
    ["the bytes of an image", (host) => host.readImage("attachment-0", 100, CALL)],
    ["the status of the box", (host) => host.boxStatus(CALL)],
    ["the bind of the box", (host) => host.bindBox(CALL)],
    ["the import of attachments", (host) => host.importAttachments(CALL)],
    ["the saving of a result", (host) => host.saveToolResult("c", "text", CALL)],
    ["history_search", (host) => host.historySearch({ text: "a" }, CALL)],
    ["event_get", (host) => host.eventGet("host:1", CALL)],
    ["event_page", (host) => host.eventPage({ direction: "backward" }, CALL)],
    ["retrieve_knowledge", (host) => host.retrieveKnowledge({ kbId: "a", text: "a" }, CALL)],
    ["rerank", (host) => host.rerank({ modelId: "main", query: "a", documents: ["a"] }, CALL)],
    ["capture_file", (host) => host.captureFile({ url: "https://a.example/a.png" }, CALL)],
    ["state_get", (host) => host.state.get(ENTRY, CALL)],
    ["state_set", (host) => host.state.set({ ...ENTRY, value: 1 }, CALL)],
    ["state_list", (host) => host.state.list(ENTRY, CALL)],
    ["state_delete", (host) => host.state.delete(ENTRY, CALL)],
    ["storage_get", (host) => host.storage.get({ scope: "plugin", key: "a" }, CALL)],
    ["the acquisition of a box", (host) => host.acquireBox({ reuse_key: "a" }, CALL)],
    ["steering_pull", (host) => host.pullSteering({ mode: "all" }, CALL)],
  ])("answers no host call any more, the run session is not found: %s", async (_what, act) => {
    proves("AUTH-13");
    const hosts: RunHost[] = [];
    await using world = playing(async function* (context, host) {
      hosts.push(host);
      yield { ...message("Hi"), run_id: context.run_id };
    });
    await world.execute(aRun());
    await expect(Promise.all(hosts.map(act))).rejects.toMatchObject({
      code: "host.not_found",
      message: "Run session not found: the run has ended.",
    });
  });

  it("tells a late worker that the run is over", async () => {
    const signals: AbortSignal[] = [];
    await using world = playing(async function* (context, _host, { signal }) {
      signals.push(signal);
      yield { ...completed(), run_id: context.run_id };
    });
    await world.execute(aRun());
    expect(signals[0]?.reason).toMatchObject({ code: "host.not_found" });
  });
});

describe("Orchestrator: the box at the end", () => {
  const tools = nativeTools({ outputChars: 1000 });

  /** A world whose runner has a box, and a run with the session for it. */
  async function boxed(play: Play): Promise<{ world: RunWorld; run: RunRecord }> {
    const world = playing(play, { tools });
    const key = { key: "global", identity: "identity-1" };
    const session = await world.boxes.findOrCreateSession("main", key, CALL);
    return { world, run: aRun({ session: { id: session.id, key: "global" } }) };
  }

  it("lists what is left in the outbox", async () => {
    const { world, run } = await boxed(async function* (context, host) {
      await host.bindBox(CALL);
      const [session] = await world.stores.sessions.listAll();
      world.backend.tree(session?.volume ?? "").put("/workspace/outbox/run_1/a.txt", "A");
      yield { ...message("Hi"), run_id: context.run_id };
    });
    await using _closing = world;
    const ended = await world.execute(run);
    expect(ended.outboxLeft).toEqual([{ path: "/workspace/outbox/run_1/a.txt", bytes: 1 }]);
  });

  it("ends also where the box does not answer any more, and says so in the log", async () => {
    const { world, run } = await boxed(async function* (context, host) {
      await host.bindBox(CALL);
      world.backend.isAvailable = false;
      yield { ...message("Hi"), run_id: context.run_id };
    });
    await using _closing = world;
    expect(await world.execute(run)).toMatchObject({ state: "completed", outboxLeft: [] });
    expect(world.logger.lines.filter(({ level }) => level === "warn")).toMatchObject([
      { fields: { runId: "run_1", code: "box.engine_unavailable" }, message: "The box was left unclean." },
    ]);
  });

  it("stays held by nobody, even if the runner did not wait for its bind", async () => {
    const { world, run } = await boxed(async function* (context, host) {
      host.bindBox(CALL).catch(() => undefined);
      yield { ...message("Hi"), run_id: context.run_id };
    });
    await using _closing = world;
    await world.execute(run);
    await world.boxes.removeSession("main", run.session?.id ?? "ses_none", CALL);
    expect(await world.stores.sessions.listAll()).toEqual([]);
  });
});

describe("Orchestrator: a run that never started", () => {
  it("ends with the reason and one event", async () => {
    await using world = yielding(message("Hi"));
    await world.stores.runs.create(aRun());
    await world.orchestrator.endUnstarted(aRun(), CANCELLED);
    expect(await world.record("run_1")).toMatchObject({ state: "cancelled", startedAt: null, message: null });
    expect((await world.eventsOf("run_1")).map(({ type, sequence }) => [type, sequence])).toEqual([
      ["run.cancelled", 1],
    ]);
  });

  it("changes nothing of a run that has ended", async () => {
    await using world = yielding(message("Hi"));
    const run = await world.execute(aRun());
    await world.orchestrator.endUnstarted(run, CANCELLED);
    await world.orchestrator.endUnstarted(aRun(), CANCELLED);
    expect(await world.record("run_1")).toEqual(run);
    expect((await world.eventsOf("run_1")).at(-1)?.type).toBe("run.completed");
  });
});

describe("Orchestrator: whatever a runner does", () => {
  const call = { id: "c1", type: "function", function: { name: "exec", arguments: "{}" } };
  const assistant_message = { role: "assistant", content: null, tool_calls: [call] };
  const started = { tool_call_id: "c1", tool_name: "exec", parameters: {} };
  const act = fc.oneof(
    fc.constantFrom<unknown>(
      delta("a"),
      delta("ab"),
      message("ab"),
      completed(),
      failed("runner.llm_error"),
      { type: "foo.bar", data: {} },
      { type: "message.delta", data: { chunk: 1 } },
      { type: "tool.call.started", data: { ...started, assistant_message } },
      { type: "tool.call.completed", data: { tool_call_id: "c1", tool_name: "exec" } },
    ),
    fc.constantFrom<unknown>("tick", "cancel", "interrupt", "throw", null, { run_id: "run_9" }),
  );

  it("ends in one terminal state with one last event, numbered without gaps, and a valid history", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 12 }), async (acts) => {
        await using world = playing(async function* (context) {
          for (const item of acts) {
            if (item === "tick") await new Promise((resolve) => setImmediate(resolve));
            else if (item === "cancel") world.active.stop("run_1", CANCELLED);
            else if (item === "interrupt")
              world.active.stop("run_1", new ServiceError("run.interrupted", "Stop."));
            else if (item === "throw") throw new Error("broken");
            else yield typeof item === "object" && item !== null ? { run_id: context.run_id, ...item } : item;
          }
        });
        const run = await world.execute(aRun());
        expect(isTerminal(run.state)).toBe(true);
        const events = await world.eventsOf("run_1");
        const ends = events.filter(({ type }) => TERMINAL_EVENTS.includes(type));
        expect(ends.map(({ sequence }) => sequence)).toEqual([events.length]);
        expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_event, index) => index + 1));
        expect(run.error === null).toBe(run.state === "completed");
        const history = (await world.transcriptOf("conversation-1")).map((item) => item.message);
        expect(findUnansweredCalls(history)).toEqual([]);
        expect(
          history.filter((item) => item.role === "assistant" && item.tool_calls === undefined).length,
        ).toBeLessThanOrEqual(1);
        expect(world.active.size).toBe(0);
      }),
      { numRuns: 200 },
    );
  }, 20_000);
});
