/** What people do to a box with the engine's own command: the next call works, and the model is told once (box §11.4, §11.5). */
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { WOKEN_NOTE } from "../../../src/domain/exec-outcome.js";
import type { BoxHandle, ExecEvent, WriteAnswer } from "../../../src/ports/box-handle.js";
import type { ChatRequest } from "../../../src/ports/chat-model.js";
import { run } from "../../contracts/box-backend.js";
import { aProcess } from "../../contracts/box-processes.js";
import { text } from "../../fakes/scripted-model.js";
import { lastToolResults, runs, saysStdout, wholeText } from "../../support/agent-script.js";
import { FOREVER, TestEngine } from "../../support/engine.js";
import { chatMessage, serviceForAll } from "../../support/shared-service.js";

const VERBS = ["remove", "stop", "kill", "restart", "pause"] as const;
type Verb = (typeof VERBS)[number];

/** How often the model is told in the request that processes are gone. */
function countNotes(request: ChatRequest): number {
  return wholeText(request).split("processes and files").length - 1;
}

describe.skipIf(!inject("dockerAvailable"))("a box that somebody handles", () => {
  const service = serviceForAll();

  async function handle(sessionId: string, verb: Verb): Promise<void> {
    const boxes = (await service().containers()).filter(
      ({ Labels: labels }) => labels["berth.session"] === sessionId,
    );
    for (const { Id: id } of boxes) {
      const container = service().engine.getContainer(id);
      if (verb === "remove") await container.remove({ force: true });
      else if (verb === "pause" || verb === "kill") await container[verb]();
      else await container[verb]({ t: 0 });
    }
  }

  it.each(VERBS)("by %s between two runs serves the next one, and says once what is gone", async (verb) => {
    const chat = `between-${verb}`;
    using model = service().script(
      runs("echo kept > /workspace/kept.txt; setsid sleep 1000 & exit 0"),
      text("kept"),
      runs("cat /workspace/kept.txt"),
      saysStdout(),
      runs("cat /workspace/kept.txt"),
      saysStdout(),
    );
    const first = await service().send(chatMessage(chat, "Keep it"));
    await handle(first.session?.id ?? "", verb);
    for (const told of [verb === "pause" ? 0 : 1, 0]) {
      const next = await service().send(chatMessage(chat, "What is there?"));
      expect(next).toMatchObject({ session: first.session, message: { content: "kept\n" } });
      expect(countNotes(model.request(model.requests.length - 2))).toBe(told);
    }
  });

  it.each(VERBS.filter((verb) => verb !== "pause"))(
    "by %s during a command makes no success of it, and serves the next call",
    async (verb) => {
      using model = service().script(
        runs("echo kept > /workspace/kept.txt; echo begun; sleep 4; echo finished", { timeout_sec: 2 }),
        runs("cat /workspace/kept.txt"),
        saysStdout(),
      );
      const running = service().post(chatMessage(`during-${verb}`, "Work"));
      await handleBusy("sleep 4", verb);
      const response = await running;
      expect(await response.json()).toMatchObject({ status: "completed", message: { content: "kept\n" } });
      const [lost] = lastToolResults(model.request(1));
      expect(lost).not.toContain("finished");
      expect(lost).not.toContain('"ok":true');
      expectNoErrors();
    },
  );

  it("by pause during a command has it go on, which says so, and serves the next call", async () => {
    using model = service().script(
      runs("echo kept > /workspace/kept.txt; echo begun; sleep 3; echo finished"),
      runs("cat /workspace/kept.txt"),
      saysStdout(),
    );
    const running = service().post(chatMessage("during-pause", "Work"));
    await handleBusy("sleep 3", "pause");
    expect(await (await running).json()).toMatchObject({ message: { content: "kept\n" } });
    const [woken] = lastToolResults(model.request(1));
    expect(woken).toContain("finished");
    expect(woken).toContain("Somebody had paused the box");
    expect(wholeText(model.request(2)).split("had paused the box")).toHaveLength(2);
    expectNoErrors();
  });

  it("by pause until the time limit of a command ends the command only", async () => {
    using model = service().script(
      runs("echo kept > /workspace/kept.txt; sleep 4; echo finished", { timeout_sec: 1 }),
      runs("cat /workspace/kept.txt"),
      saysStdout(),
    );
    const running = service().post(chatMessage("paused-out", "Work"));
    await handleBusy("sleep 4", "pause");
    expect(await (await running).json()).toMatchObject({ message: { content: "kept\n" } });
    const [lost] = lastToolResults(model.request(1));
    expect(lost).not.toContain("finished");
    expect(lost).toContain("time limit");
    expect(lost).toContain("Somebody had paused the box");
    expectNoErrors();
  });

  function expectNoErrors(): void {
    const errors = service()
      .takeTroubles()
      .filter((line) => line.includes('"level":"error"'));
    expect(errors).toEqual([]);
  }

  /** Handles the box in which the command runs, once it does. */
  async function handleBusy(command: string, verb: Verb): Promise<void> {
    await expect.poll(() => service().countProcesses(command), { timeout: 20_000 }).toBeGreaterThan(0);
    for (const { Labels: labels } of await service().containers())
      if (labels["berth.session"] !== undefined) return handle(labels["berth.session"], verb);
  }
});

const MIB = 1024 * 1024;
const BIG_MIB = 32;

async function write(box: BoxHandle, path: string): Promise<readonly WriteAnswer[]> {
  const bytes = Buffer.alloc(MIB, "x");
  async function* content(): AsyncIterable<Uint8Array> {
    await Promise.resolve();
    yield bytes;
  }
  return box.files.write([{ path, mode: "create", sizeBytes: MIB, content: content() }], FOREVER);
}

describe.skipIf(!inject("dockerAvailable"))("a box that somebody pauses", () => {
  let engine: TestEngine;
  let box: BoxHandle;
  let pause: () => Promise<void>;

  beforeAll(async () => {
    engine = new TestEngine();
    const started = await engine.startBox();
    box = started.box;
    pause = async () => {
      await engine.docker.getContainer(started.place.container).pause();
    };
    await run(box, ["truncate", "-s", `${BIG_MIB}M`, "/workspace/big"]);
  });
  afterAll(async () => {
    await box[Symbol.asyncDispose]();
    await engine[Symbol.asyncDispose]();
  });

  it("is woken by a command, a look at files and an import, and none of them fails", async () => {
    await pause();
    const [command, looks, imported] = await Promise.all([
      run(box, ["echo", "works"]),
      box.files.stat(["/workspace/big"], FOREVER),
      write(box, "/workspace/in"),
    ]);
    expect(command).toMatchObject({ stdout: "works\n", exit: { exitCode: 0, notes: [WOKEN_NOTE] } });
    expect(looks).toMatchObject([{ entry: { sizeBytes: BIG_MIB * MIB } }]);
    expect(imported).toMatchObject([{ ok: true }]);
  });

  it("is woken while a file is read, and by what is typed into a process", async () => {
    await using cat = await box.spawn(aProcess(["cat"]), FOREVER);
    const whole = { path: "/workspace/big", offset: 0, length: Infinity };
    let bytes = 0;
    for await (const event of box.files.read([whole], FOREVER)) {
      if (event.type !== "bytes") continue;
      if (bytes === 0) await pause();
      bytes += event.bytes.length;
    }
    expect(bytes).toBe(BIG_MIB * MIB);
    await pause();
    await cat.write(Buffer.from("typed"), FOREVER);
    await cat.endInput(FOREVER);
    const events: ExecEvent[] = [];
    for await (const event of cat.events) events.push(event);
    expect(events.at(-1)).toMatchObject({ type: "exit", exit: { exitCode: 0, notes: [WOKEN_NOTE] } });
  });
});
