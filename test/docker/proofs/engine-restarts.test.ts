/** An engine that is stopped, or killed, and started again, between and during commands (box §11.4, §11.5, §16.5, security §9). */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BOX_NOTES } from "../../../src/box/box-notes.js";
import type { ChatRequest } from "../../../src/ports/chat-model.js";
import { text } from "../../fakes/scripted-model.js";
import { lastToolResults, runs, saysStdout, wholeText } from "../../support/agent-script.js";
import { HELPER_IMAGE, hasEngine } from "../../support/engine.js";
import { countCommandLines } from "../../support/machine.js";
import { canOwnEngine, OwnEngine } from "../../support/own-engine.js";
import { sized } from "../../support/proof.js";
import { chatMessage, SharedService } from "../../support/shared-service.js";

const HOOK_MS = 240_000;
const SIGNALS = Array.from({ length: sized(1, 5) }, () => ["SIGKILL", "SIGTERM"] as const).flat();

/** How often the model was told that something is gone. */
function countNotes(request: ChatRequest): number {
  return wholeText(request).split(/running processes .{0,60}are gone|processes are gone/).length - 1;
}

describe.skipIf(!hasEngine() || !canOwnEngine())("an engine that is started again", () => {
  let engine: OwnEngine;
  let service: SharedService;

  beforeAll(async () => {
    engine = await OwnEngine.start(["berth-box:slim", HELPER_IMAGE]);
    const boxes = { engines: [{ name: "own", host: engine.address }] };
    service = await SharedService.start({ engine: engine.docker, boxes });
  }, HOOK_MS);
  afterAll(async () => {
    try {
      await service[Symbol.asyncDispose]();
    } finally {
      await engine[Symbol.asyncDispose]();
    }
  }, HOOK_MS);

  it.each(SIGNALS.map((signal, round) => [signal, round] as const))(
    "after %s between two runs has the files, and the model is told once (%i)",
    async (signal, round) => {
      const chat = `between-${round}`;
      using model = service.script(
        runs("echo kept > /workspace/kept.txt"),
        text("kept"),
        runs("cat /workspace/kept.txt"),
        saysStdout(),
        runs("cat /workspace/kept.txt"),
        saysStdout(),
      );
      const first = await service.send(chatMessage(chat, "Keep it"));
      await engine.kill(signal);
      await engine.start();
      const next = await service.send(chatMessage(chat, "What is there?"));
      expect(next).toMatchObject({
        status: "completed",
        session: first.session,
        message: { content: "kept\n" },
      });
      expect(countNotes(model.request(2))).toBe(1);
      expect(wholeText(model.request(2))).toContain(BOX_NOTES.restarted);
      const last = await service.send(chatMessage(chat, "And now?"));
      expect(last).toMatchObject({ status: "completed", message: { content: "kept\n" } });
      expect(countNotes(model.request(4))).toBe(0);
    },
    120_000,
  );

  it.each(SIGNALS.map((signal, round) => [signal, round] as const))(
    "after %s during a command makes no success of it, and the next call of the run works (%i)",
    async (signal, round) => {
      const word = `sleep ${61_000 + round}`;
      using model = service.script(
        runs(`echo kept > /workspace/kept.txt; (setsid ${word} &); ${word}; echo finished`, {
          timeout_sec: 8,
        }),
        async function* (...call) {
          await engine.start();
          yield* runs("cat /workspace/kept.txt")(...call);
        },
        saysStdout(),
      );
      const running = service.send(chatMessage(`during-${round}`, "Work"));
      await expect.poll(() => countCommandLines(word), { timeout: 30_000 }).toBeGreaterThan(1);
      await engine.kill(signal);
      const run = await running;
      const [lost] = lastToolResults(model.request(1));
      expect(lost).not.toContain("finished");
      expect(lost).not.toContain('"ok":true');
      expect(run).toMatchObject({ status: "completed", message: { content: "kept\n" } });
      const [told] = lastToolResults(model.request(2));
      expect(`${lost} ${told}`).toMatch(/engine|are gone/);
      await expect.poll(() => countCommandLines(word), { timeout: 10_000 }).toBe(0);
    },
    120_000,
  );

  it("still knows whose workspace it has, and makes a new box", async () => {
    using _model = service.script(runs("echo new"), saysStdout());
    const run = await service.send(chatMessage("new", "Hello"));
    expect(run).toMatchObject({ status: "completed", message: { content: "new\n" } });
  });
});
