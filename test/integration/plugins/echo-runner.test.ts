/** The example that ships, through the composed service: streaming, state, a tool call, a cancel, an event of its own. */
import { resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FakeBoxBackend } from "../../fakes/fake-box-backend.js";
import { exited, printed } from "../../fakes/fake-box-commands.js";
import { calls, ScriptedModel } from "../../fakes/scripted-model.js";
import { lastToolResults, says } from "../../support/agent-script.js";
import { type ComposedService, onePipeline, standIn, startService } from "../../support/composed-service.js";
import { json } from "../../support/http-service.js";
import { readStream, streamEvents } from "../../support/read-events.js";

const RUNNER = "plugin:berth-examples/echo-runner/default";

const model = new ScriptedModel([
  calls([{ name: "reverse_text", arguments: { text: "stressed" } }]),
  says((request) => JSON.stringify(lastToolResults(request))),
]);

let service: ComposedService;

beforeAll(async () => {
  const backend = new FakeBoxBackend({
    commands: async function* () {
      yield printed("a.txt\n");
      yield exited(0);
    },
  });
  service = await startService({
    backend,
    models: new Map([["m1", model]]),
    settings: {
      models: [standIn("m1")],
      plugins: { directory: resolve("examples") },
      default_pipeline: "echo",
      pipelines: [
        {
          id: "echo",
          runner: { id: RUNNER },
          runner_config: { [RUNNER]: { pause_ms: 20 } },
          policy: { allowed_tool_names: ["exec"] },
        },
        {
          ...onePipeline("m1", { tools: ["plugin:berth-examples/echo-runner/reverse_text"] }),
          id: "agent",
        },
      ],
    },
  });
});

afterAll(async () => {
  await service[Symbol.asyncDispose]();
  model[Symbol.dispose]();
});

function message(text: string, launcher = "42") {
  return { chat: { launcher_id: launcher }, input: { text } };
}

describe("examples/echo-runner", () => {
  it("streams what it says, word by word, and counts by its state", async () => {
    const answer = await service.fetch("/v1/runs", json({ ...message("Hello there"), stream: true }));
    const events = await readStream(answer);
    const deltas = events.filter(({ type }) => type === "message.delta");
    expect(deltas.length).toBeGreaterThan(1);
    expect(events.at(-1)).toMatchObject({
      type: "run.completed",
      data: { message: { content: "1: Hello there" } },
    });
    expect(await service.send(message("Again"))).toMatchObject({ message: { content: "2: Again" } });
    expect(await service.send(message("Hello", "43"))).toMatchObject({ message: { content: "1: Hello" } });
  });

  it("runs a command in the conversation's box", async () => {
    const run = await service.send(message("!ls"));
    expect(run).toMatchObject({ status: "completed", message: { content: "a.txt\n" } });
    const events = await readStream(await service.fetch(`/v1/runs/${run.id}/events`));
    expect(events.map(({ type }) => type)).toEqual(
      expect.arrayContaining(["tool.call.started", "tool.output", "tool.call.completed"]),
    );
  });

  it("answers an event before any runner does", async () => {
    expect(await service.send(message("/ping", "45"))).toMatchObject({ message: { content: "pong" } });
  });

  it("lends its tool to the local agent", async () => {
    const run = await service.send({ ...message("Turn it around", "46"), pipeline: "agent" });
    expect(run).toMatchObject({ status: "completed", tool_rounds: 1 });
    expect(run.message?.content).toContain("desserts");
  });

  it("ends by itself when it is cancelled", async () => {
    const words = "word ".repeat(2000);
    const answer = await service.fetch("/v1/runs", json({ ...message(words, "44"), stream: true }));
    for await (const event of streamEvents(answer)) {
      if (event.type === "message.delta") await service.fetch(`/v1/runs/${event.run_id}/cancel`, json({}));
      if (event.type === "run.cancelled") break;
      expect(event.type).not.toBe("run.completed");
    }
    expect(await service.send(message("Again", "44"))).toMatchObject({ status: "completed" });
  });
});
