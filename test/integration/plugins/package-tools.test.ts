/** Tools of packages in runs of the local agent: selected by package, called in their own process. */
import { describe, expect, it } from "vitest";
import { calls, ScriptedModel } from "../../fakes/scripted-model.js";
import { lastToolResults, says } from "../../support/agent-script.js";
import { onePipeline, standIn, startService } from "../../support/composed-service.js";
import { writePackage } from "../../support/plugin-directory.js";
import { withTempDir } from "../../support/temp-dir.js";

const CALC = `
import { definePlugin } from "berth/plugin-sdk";
export default definePlugin({
  tools: {
    double: async ({ value }) => ({ doubled: 2 * value }),
    fail: async () => { throw new Error("kaboom at /secret/path"); },
  },
});
`;

const parameters = { type: "object", properties: { value: { type: "number" } }, required: ["value"] };
const tools = [
  { name: "double", description: "Doubles.", parameters },
  { name: "fail", description: "Fails.", parameters: { type: "object", properties: {} } },
];

describe("tools of a package", () => {
  it("are called in their package, by a run whose bot may use it", async () => {
    await using directory = await withTempDir();
    await writePackage(directory.path, { id: "acme/calc", entry: CALC, spec: { tools } });
    const step = calls([
      { name: "double", arguments: { value: 21 } },
      { name: "fail", arguments: {} },
    ]);
    using model = new ScriptedModel([
      step,
      says((request) => lastToolResults(request).join("\n")),
      step,
      says((request) => lastToolResults(request).join("\n")),
    ]);
    await using service = await startService({
      models: new Map([["m1", model]]),
      settings: {
        models: [standIn("m1")],
        boxes: { enabled: false },
        plugins: { directory: directory.path },
        bots: [{ id: "strict", allowed_plugins: [] }],
        pipelines: [onePipeline("m1", { tools: ["plugin:acme/calc/*"] })],
      },
    });
    const send = async (bot: string) =>
      service.send({
        chat: { launcher_type: "person", launcher_id: bot, bot_id: bot },
        input: { text: "Double it" },
      });
    const answer = String((await send("free")).message?.content);
    expect(answer).toContain('{"doubled":42}');
    expect(answer).toContain("Error: ");
    expect(answer).not.toContain("/secret/path");
    const refused = String((await send("strict")).message?.content);
    expect(refused).toContain("does not exist");
  });
});
