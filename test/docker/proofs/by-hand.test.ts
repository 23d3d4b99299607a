/** What people do to a box with the engine's own command: the next call works, and the model is told once (box §11.4, §11.5). */
import { describe, expect, inject, it } from "vitest";
import type { ChatRequest } from "../../../src/ports/chat-model.js";
import { text } from "../../fakes/scripted-model.js";
import { lastToolResults, runs, saysStdout, wholeText } from "../../support/agent-script.js";
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
      await expect.poll(() => service().countProcesses("sleep 4"), { timeout: 20_000 }).toBeGreaterThan(0);
      const [box] = (await service().containers()).filter(({ Names: names }) => names.length > 0);
      await handle(box?.Labels["berth.session"] ?? "", verb);
      const response = await running;
      expect(await response.json()).toMatchObject({ status: "completed", message: { content: "kept\n" } });
      const [lost] = lastToolResults(model.request(1));
      expect(lost).not.toContain("finished");
      expect(lost).not.toContain('"ok":true');
      expect(
        service()
          .takeTroubles()
          .filter((line) => line.includes('"level":"error"')),
      ).toEqual([]);
    },
  );
});
