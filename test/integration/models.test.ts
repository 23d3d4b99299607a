/** Models that fail, over the composed service: what the user sees, and what the run says (local-agent §10). */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { cutAfter, rateLimited, ScriptedModel, text } from "../fakes/scripted-model.js";
import { LOCAL_AGENT, standIn, startService } from "../support/composed-service.js";
import { proves } from "../support/proves.js";
import { eventData, readEvents } from "../support/read-events.js";
import { textLike } from "../support/text-like.js";

const HELLO = { chat: { launcher_id: "42" }, input: { text: "Hello" } };

async function startWithTwo(primary: ScriptedModel, fallback: ScriptedModel) {
  const model = { primary: "m1", fallbacks: ["m2"], reasoning: {} };
  return startService({
    models: new Map([
      ["m1", primary],
      ["m2", fallback],
    ]),
    settings: {
      models: [standIn("m1"), standIn("m2")],
      boxes: { enabled: false },
      pipelines: [
        { id: "default", runner: { id: LOCAL_AGENT }, runner_config: { [LOCAL_AGENT]: { model } } },
      ],
    },
  });
}

const snapshot = z.object({ chunk: z.object({ content: z.string() }) });

describe("a model that fails", () => {
  it("is replaced by the fallback, whose text alone the user sees", async () => {
    proves("MODEL-13");
    using primary = new ScriptedModel([rateLimited(), rateLimited()]);
    using fallback = new ScriptedModel([text("from the fallback"), text("from the fallback")]);
    await using service = await startWithTwo(primary, fallback);
    const whole = await service.send(HELLO);
    expect(whole).toMatchObject({
      status: "completed",
      model: "m2",
      message: { content: "from the fallback" },
      warnings: [{ message: textLike(/m1/) }],
    });
    const events = await readEvents(service.url, { ...HELLO, stream: true });
    const shown = events.filter(({ type }) => type === "message.delta");
    expect(shown.map((event) => snapshot.parse(event.data).chunk.content)).toEqual(["from the fallback"]);
    expect(events.at(-1)?.type).toBe("run.completed");
  });

  it("ends the run when its stream dies after the first shown text, and that text is kept", async () => {
    proves("MODEL-16", "FLOW-20");
    using primary = new ScriptedModel([cutAfter("The beginning of ", "an answer")]);
    using fallback = new ScriptedModel([]);
    await using service = await startWithTwo(primary, fallback);
    const events = await readEvents(service.url, { ...HELLO, stream: true });
    const last = events.at(-1);
    expect(last?.type).toBe("run.failed");
    expect(eventData(last)).toMatchObject({
      status: "failed",
      message: { content: "The beginning of an answer", partial: true },
      error: {
        code: "runner.llm_error",
        message: textLike(/no fallback possible/),
        retryable: false,
      },
    });
    expect(fallback.requests).toEqual([]);
  });
});
