import { describe, expect, it } from "vitest";
import { ServiceError } from "../../../src/domain/errors.js";
import type { RunRecord } from "../../../src/ports/run-store.js";
import { type PackageParts, ScriptedPackages } from "../../fakes/scripted-packages.js";
import { completed, message, ScriptedRunner } from "../../fakes/scripted-runner.js";
import { aChat, aDescriptor, aPipeline } from "../../support/builders.js";
import { proves } from "../../support/proves.js";
import { aRun } from "../../support/records.js";
import { aRunWorld, type RunWorld, type WorldOptions } from "../../support/run-world.js";

/** A package that answers this to every message. */
function answering(answer: unknown, id = "alice/listener"): PackageParts {
  return { id, listensTo: ["message.received"], answer: async () => answer };
}

interface Listened {
  readonly world: RunWorld;
  readonly runner: ScriptedRunner;
  readonly packages: ScriptedPackages;
  readonly run: RunRecord;
}

interface Options extends WorldOptions {
  readonly given?: Partial<RunRecord>;
}

async function execute(
  parts: readonly PackageParts[],
  { given = {}, ...options }: Options = {},
): Promise<Listened> {
  const runner = new ScriptedRunner({
    descriptor: aDescriptor({
      config: [{ name: "prompt", type: "prompt-editor", label: { en: "Prompt" } }],
    }),
    results: [message("By the runner."), completed()],
  });
  const packages = new ScriptedPackages(parts);
  const world = aRunWorld({ runner, packages, ...options });
  const run = await world.execute(
    aRun({ input: { text: "Hello", contents: [], attachments: [] }, ...given }),
  );
  return { world, runner, packages, run };
}

describe("a package that listens", () => {
  it("answers in the place of the runner, or in silence", async () => {
    proves("FLOW-11");
    const replied = await execute([answering({ prevent_default: true, reply: "By the package." })]);
    expect(replied.run).toMatchObject({
      state: "completed",
      finishReason: "stop",
      message: { content: "By the package.", partial: false },
      error: null,
    });
    expect(replied.runner.contexts).toEqual([]);
    expect(await replied.world.transcriptOf("conversation-1")).toEqual([
      { message: { role: "user", content: "Hello" }, partial: false },
      { message: { role: "assistant", content: "By the package." }, partial: false },
    ]);
    const types = (await replied.world.eventsOf("run_1")).map(({ type }) => type);
    expect(types).toEqual(["run.started", "message.completed", "run.completed"]);

    const silent = await execute([answering({ prevent_default: true })]);
    expect(silent.run).toMatchObject({ state: "completed", message: null, error: null });
    expect(silent.runner.contexts).toEqual([]);
    expect(await silent.world.transcriptOf("conversation-1")).toEqual([]);
    expect((await silent.world.eventsOf("run_1")).map(({ type }) => type)).toEqual([
      "run.started",
      "run.completed",
    ]);
  });

  it("puts a text of its own in the place of the user's", async () => {
    proves("FLOW-12");
    const { world, runner, run } = await execute([answering({ user_message_alter: "Altered" })]);
    expect(runner.contexts.map(({ input }) => input.text)).toEqual(["Altered"]);
    expect(run.message).toEqual({ content: "By the runner.", partial: false });
    expect(await world.transcriptOf("conversation-1")).toMatchObject([
      { message: { role: "user", content: "Altered" } },
      { message: { role: "assistant", content: "By the runner." } },
    ]);
  });

  it("gives the run a prompt that the runner pulls, and that is nowhere in its context", async () => {
    proves("CTX-11");
    const effective = [{ role: "system", content: "You are a canary." }];
    const pulled: unknown[] = [];
    const runner = new ScriptedRunner({
      descriptor: aDescriptor({
        config: [{ name: "prompt", type: "prompt-editor", label: { en: "Prompt" } }],
      }),
      play: async function* play(context, host, options) {
        pulled.push(await host.getPrompt(options));
        yield { ...completed(), run_id: context.run_id };
      },
    });
    const configured = [{ role: "system", content: "You are a canary. It was configured." }];
    const pipelines = [aPipeline({ config: { prompt: configured, timeout: 3 } })];
    const { packages } = await execute([answering({ prompt: effective })], { runner, pipelines });
    expect(pulled).toEqual([effective]);
    const [context] = runner.contexts;
    expect(JSON.stringify(context)).not.toContain("canary");
    expect(context).toMatchObject({ prompt: [], messages: [], config: { timeout: 3 } });
    expect(context?.context.available_apis.prompt_get).toBe(true);
    expect(packages.events[0]?.event.data).toMatchObject({ prompt: configured });
  });

  it("changes nothing where it says nothing", async () => {
    const pipelines = [aPipeline({ config: { prompt: [{ role: "system", content: "Be kind." }] } })];
    const { runner } = await execute([answering(null)], { pipelines });
    expect(runner.contexts).toMatchObject([
      { input: { text: "Hello" }, config: { prompt: [{ content: "Be kind." }] } },
    ]);
    expect(runner.contexts[0]?.context.available_apis.prompt_get).toBe(false);
  });

  it("hears what came in, with where and how", async () => {
    const chat = aChat({ bot_id: "web" });
    const { packages } = await execute([answering(null)], { given: { chat, params: { lang: "en" } } });
    expect(packages.events).toMatchObject([
      {
        packageId: "alice/listener",
        event: {
          event_type: "message.received",
          tenant: "main",
          pipeline: "default",
          chat,
          text: "Hello",
          data: { contents: [], attachments: [], params: { lang: "en" }, prompt: [] },
        },
      },
    ]);
  });
});

describe("packages that listen, one after another", () => {
  it("each hear what the one before made of it", async () => {
    const { packages, runner } = await execute([
      answering({ user_message_alter: "One" }, "alice/one"),
      answering({ user_message_alter: [{ type: "text", text: "Two" }] }, "alice/two"),
      answering(null, "alice/three"),
    ]);
    expect(packages.events.map(({ event }) => event.text)).toEqual(["Hello", "One", "Two"]);
    expect(runner.contexts.map(({ input }) => input.contents)).toEqual([[{ type: "text", text: "Two" }]]);
  });

  it("end with the first that prevents the run", async () => {
    const { packages, run } = await execute([
      answering({ prevent_default: true, reply: "First." }, "alice/one"),
      answering({ prevent_default: true, reply: "Second." }, "alice/two"),
    ]);
    expect(run.message?.content).toBe("First.");
    expect(packages.events).toHaveLength(1);
  });

  it("are only those that listen to the event, and that the bot may use", async () => {
    const silenced = { prevent_default: true };
    const { packages, run } = await execute(
      [
        { ...answering(silenced, "alice/deaf"), listensTo: ["message.recalled"] },
        answering(silenced, "bob/foreign"),
        answering(null, "alice/one"),
      ],
      { bots: { web: ["alice/one", "alice/deaf"] }, given: { chat: aChat({ bot_id: "web" }) } },
    );
    expect(packages.events.map(({ packageId }) => packageId)).toEqual(["alice/one"]);
    expect(run.message?.content).toBe("By the runner.");
  });
});

describe("a package that does not listen as it should", () => {
  it.each<[string, () => Promise<unknown>]>([
    ["throws", () => Promise.reject(new Error("Broken."))],
    ["answers nonsense", async () => ({ prevent_default: "yes" })],
    [
      "names a file that is not there",
      async () => ({ user_message_alter: [{ type: "attachment", reference: "attachment-9" }] }),
    ],
  ])("%s: that is logged, and the run goes on", async (_what, answer) => {
    const { world, run, runner } = await execute([{ ...answering(null), answer }]);
    expect(run).toMatchObject({ state: "completed", message: { content: "By the runner." } });
    expect(runner.contexts.map(({ input }) => input.text)).toEqual(["Hello"]);
    expect(world.logger.lines.filter(({ level }) => level === "warn")).toMatchObject([
      { fields: { runId: "run_1", package: "alice/listener" } },
    ]);
  });

  it("cannot be listed: then none is heard", async () => {
    const packages = new ScriptedPackages([answering({ prevent_default: true })]);
    packages.failure = new Error("The packages are gone.");
    const { run } = await execute([], { packages });
    expect(run.message?.content).toBe("By the runner.");
  });

  it("is waited for no longer than the run lasts", async () => {
    const stopped = new ServiceError("cancelled", "The run was cancelled.");
    let world: RunWorld | null = null;
    const answer: PackageParts["answer"] = (_event, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(stopped), { once: true });
        setImmediate(() => world?.active.stop("run_1", stopped));
      });
    const packages = new ScriptedPackages([{ ...answering(null), answer }]);
    const runner = new ScriptedRunner();
    world = aRunWorld({ runner, packages });
    const run = await world.execute(aRun());
    expect(run).toMatchObject({ state: "cancelled" });
    expect(runner.contexts).toEqual([]);
  });
});
