import { describe, expect, it } from "vitest";
import type { ToolEffect } from "../../../../src/domain/tool.js";
import type { FakeTool } from "../../../fakes/fake-run-host.js";
import { calls, ScriptedModel, text } from "../../../fakes/scripted-model.js";
import { proves } from "../../../support/proves.js";
import { BOTH_MODES, runAgent } from "./run-agent.js";

const BOX = { apis: { box: true, box_export_paths: true } } as const;
const files = (access: "read" | "write"): ToolEffect => ({ kind: "box.files", access, pathFields: ["path"] });

/** Tools that end when they are told, and say when they began. */
class Stage {
  readonly log: string[] = [];
  readonly #waiting = new Map<string, () => void>();

  tool(name: string, effect?: ToolEffect): FakeTool {
    return {
      ...(effect === undefined ? {} : { effect }),
      run: async () => {
        this.log.push(`${name} begins`);
        await new Promise<void>((resolve) => this.#waiting.set(name, resolve));
        this.log.push(`${name} ends`);
        return name;
      },
    };
  }

  /** Lets a call end as soon as it has begun. */
  async end(name: string): Promise<void> {
    while (!this.#waiting.has(name)) await new Promise(setImmediate);
    this.#waiting.get(name)?.();
  }
}

describe.each(BOTH_MODES)("a batch, $mode", ({ streaming }) => {
  it("overlaps in parallel mode, and keeps the order of the calls in its messages", async () => {
    proves("LOOP-05");
    const stage = new Stage();
    using model = new ScriptedModel([
      calls([
        { id: "c1", name: "slow" },
        { id: "c2", name: "quick" },
      ]),
      text("Done."),
    ]);
    const running = runAgent({
      streaming,
      models: { main: model },
      tools: { slow: stage.tool("slow"), quick: stage.tool("quick") },
    });
    await stage.end("quick");
    await stage.end("slow");
    const run = await running;
    expect(stage.log).toEqual(["slow begins", "quick begins", "quick ends", "slow ends"]);
    expect(run.started.map(({ tool_call_id }) => tool_call_id)).toEqual(["c1", "c2"]);
    expect(run.ended.map(({ tool_call_id }) => tool_call_id)).toEqual(["c2", "c1"]);
    expect(run.sentAfterUser(1).map((message) => message.tool_call_id)).toEqual([undefined, "c1", "c2"]);
  });

  it("runs only so many calls at once, however many one reply holds", async () => {
    let running = 0;
    let most = 0;
    const tool: FakeTool = {
      run: async () => {
        running += 1;
        most = Math.max(most, running);
        await new Promise(setImmediate);
        running -= 1;
        return "ok";
      },
    };
    using model = new ScriptedModel([
      calls(Array.from({ length: 60 }, () => ({ name: "t" }))),
      text("Done."),
    ]);
    const run = await runAgent({ streaming, models: { main: model }, tools: { t: tool } });
    expect(run.ended).toHaveLength(60);
    expect(most).toBe(16);
  });

  it("runs the first 128 calls of a reply, tells the model of the rest, and answers every one", async () => {
    let ran = 0;
    const tool: FakeTool = {
      effect: { kind: "box.files", access: "write", pathFields: ["path"] },
      run: () => {
        ran += 1;
        return "ok";
      },
    };
    const many = Array.from({ length: 3000 }, (_none, i) => ({
      name: "write",
      arguments: { path: `f${i}` },
    }));
    using model = new ScriptedModel([calls([...many, { name: "nonsense" }]), text("Done.")]);
    const run = await runAgent({ streaming, models: { main: model }, ...BOX, tools: { write: tool } });
    const [, ...answers] = run.sentAfterUser(1);
    expect([ran, answers.length, run.started.length]).toEqual([128, 3001, 3001]);
    expect(answers[127]?.content).toBe("ok");
    expect(new Set(answers.slice(128).map(({ content }) => content))).toEqual(
      new Set([
        "Error: Not executed: only the first 128 tool calls of one reply run, and this reply made 3001 calls. Make the rest in the next reply, or do the work in one command.",
      ]),
    );
    expect(run.completed.data.finish_reason).toBe("stop");
  });

  it("counts every object of one call that holds several", async () => {
    const objects = Array.from({ length: 200 }, (_none, i) => JSON.stringify({ i })).join("");
    using model = new ScriptedModel([calls([{ name: "t", arguments: objects }]), text("Done.")]);
    const run = await runAgent({ streaming, models: { main: model }, tools: { t: {} } });
    expect(run.ended.filter(({ error }) => error === undefined)).toHaveLength(128);
    expect(run.ended).toHaveLength(200);
  });

  it("goes by declared effects, never by names", async () => {
    proves("LOOP-06");
    const stage = new Stage();
    using model = new ScriptedModel([calls([{ name: "activate" }, { name: "read_tool" }]), text("Done.")]);
    const running = runAgent({
      streaming,
      models: { main: model },
      tools: { activate: stage.tool("activate"), read_tool: stage.tool("read_tool") },
    });
    await stage.end("read_tool");
    await stage.end("activate");
    await running;
    expect(stage.log.slice(0, 2)).toEqual(["activate begins", "read_tool begins"]);
  });

  it("runs one after the other in serial mode", async () => {
    using model = new ScriptedModel([calls([{ name: "a" }, { name: "b" }]), text("Done.")]);
    const run = await runAgent({
      streaming,
      models: { main: model },
      tools: { a: {}, b: {} },
      config: { "tool-execution-mode": "serial" },
    });
    expect(run.types.filter((type) => type.startsWith("tool."))).toEqual([
      "tool.call.started",
      "tool.call.completed",
      "tool.call.started",
      "tool.call.completed",
    ]);
  });

  it("lets a read see what an earlier call of the batch wrote", async () => {
    let content = "nothing";
    using model = new ScriptedModel([
      calls([
        { name: "write", arguments: { path: "a" } },
        { name: "read", arguments: { path: "/workspace/a" } },
      ]),
      text("Done."),
    ]);
    const run = await runAgent({
      streaming,
      models: { main: model },
      ...BOX,
      tools: {
        write: {
          effect: files("write"),
          run: async () => {
            await new Promise(setImmediate);
            content = "written";
          },
        },
        read: { effect: files("read"), run: () => content },
      },
    });
    expect(run.ended.map(({ model_text }) => model_text)).toEqual(["done", "written"]);
  });

  it("answers an unknown tool in its place while another call still runs", async () => {
    const stage = new Stage();
    using model = new ScriptedModel([
      calls([
        { id: "c1", name: "exec" },
        { id: "c2", name: "nonsense" },
      ]),
      text("Done."),
    ]);
    const running = runAgent({
      streaming,
      models: { main: model },
      ...BOX,
      tools: { exec: stage.tool("exec", { kind: "box.exec" }) },
    });
    await stage.end("exec");
    const run = await running;
    expect(run.ended.map(({ tool_call_id }) => tool_call_id)).toEqual(["c2", "c1"]);
    expect(
      run
        .sentAfterUser(1)
        .slice(1)
        .map((message) => message.tool_call_id),
    ).toEqual(["c1", "c2"]);
  });

  it("answers every call, in order, directly after the message that asked", async () => {
    proves("LOOP-23");
    const ids = ["c1", "c2", "c3", "c4", "c5", "c6"];
    using model = new ScriptedModel([
      calls(ids.map((id, i) => ({ id, name: i === 2 ? "late" : i === 4 ? "nonsense" : "look" }))),
      text("Done."),
    ]);
    const run = await runAgent({
      streaming,
      models: { main: model },
      tools: { look: {}, late: { run: () => ({ ok: false, error: "late did not finish within 120 s." }) } },
    });
    const [assistant, ...answers] = run.sentAfterUser(1);
    expect(assistant?.tool_calls?.map(({ id }) => id)).toEqual(ids);
    expect(answers.map(({ role, tool_call_id }) => [role, tool_call_id])).toEqual(
      ids.map((id) => ["tool", id]),
    );
    expect(answers[2]?.content).toBe("Error: late did not finish within 120 s.");
    expect(run.started.map((started) => started.assistant_message !== undefined)).toEqual([
      true,
      false,
      false,
      false,
      false,
      false,
    ]);
  });
});
