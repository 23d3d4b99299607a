import { describe, expect, it } from "vitest";
import { ScriptedModel, type Step } from "../../../fakes/scripted-model.js";
import { startAgent } from "./run-agent.js";

/** Eight pieces at once, then a silence that an abort ends as a broken connection would. */
const eightThenSilence: Step = async function* (_request, { signal }) {
  for (let piece = 0; piece < 8; piece += 1) yield { text: "x" };
  await new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(new Error("connection closed")), { once: true });
  });
};

describe("a reader that leaves at a snapshot", () => {
  it("leaves no failure behind that nobody hears", async () => {
    const unheard: unknown[] = [];
    const hear = (reason: unknown): void => void unheard.push(reason);
    process.on("unhandledRejection", hear);
    try {
      using model = new ScriptedModel([eightThenSilence]);
      const { run } = startAgent({ streaming: true, models: { main: model } });
      for await (const result of run) if (result.type === "message.delta") break;
      await new Promise(setImmediate);
      await new Promise(setImmediate);
    } finally {
      process.off("unhandledRejection", hear);
    }
    expect(unheard).toEqual([]);
  });
});
