/** What a provider gave with its replies, and gets back in later runs, over HTTP on both sides and the database between (local-agent §12.18). */
import { describe, expect, it } from "vitest";
import { reply, startScriptedModelServer } from "../fakes/scripted-model-server.js";
import { onePipeline, startService } from "../support/composed-service.js";
import { proves } from "../support/proves.js";
import { readEvents } from "../support/read-events.js";

const SIGNED = { extra_content: { google: { thought_signature: "a+/=\u2028é" } } };
const HELLO = { chat: { launcher_id: "42" }, input: { text: "Hello" } };

describe.each([{ mode: "streamed" }, { mode: "not streamed" }])("the stored history, $mode", ({ mode }) => {
  it("carries the signature of a call back unchanged, and thinking to nobody", async () => {
    proves("WIRE-36", "WIRE-26");
    const call = { id: "c1", ...SIGNED, function: { name: "nothing_of_the_kind", arguments: "{}" } };
    await using provider = await startScriptedModelServer(
      [reply({ calls: [call] }), reply({ content: "plan…</think>Hello" }), reply({ content: "And again." })],
      { isStrict: true },
    );
    await using service = await startService({
      settings: {
        models: [{ id: "m1", base_url: provider.baseUrl, model: "m1" }],
        boxes: { enabled: false },
        pipelines: [onePipeline("m1", { "remove-think": true })],
      },
    });
    const answer = async () => {
      if (mode === "not streamed") return JSON.stringify(await service.send(HELLO));
      return JSON.stringify(await readEvents(service.url, { ...HELLO, stream: true }));
    };
    const [first, second] = [await answer(), await answer()];
    expect(provider.faults).toEqual([]);
    const last = provider.body().messages ?? [];
    expect(last.flatMap((message) => message.tool_calls ?? [])).toEqual([
      { id: "c1", type: "function", ...SIGNED, function: { name: "nothing_of_the_kind", arguments: "{}" } },
    ]);
    expect(last.filter(({ role }) => role === "assistant").map(({ content }) => content)).toEqual([
      null,
      "Hello",
    ]);
    expect(first).toContain("Hello");
    expect(first + second).not.toContain("plan…");
    expect(second).toContain("And again.");
  });
});
