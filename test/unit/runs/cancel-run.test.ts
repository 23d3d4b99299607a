import { describe, expect, it } from "vitest";
import { CALLER } from "../../support/builders.js";
import { proves } from "../../support/proves.js";
import { admit, aSetting, CALL, history, pull, tick } from "../../support/steerable-runs.js";

describe("a cancel", () => {
  it("stops the run and not the queue, and says where each message is", async () => {
    proves("STATE-12");
    await using setting = aSetting();
    const { serve } = setting.world;
    const first = await admit(setting, "One");
    const taken = await admit(setting, "Two");
    await pull(setting, "One");
    const left = await admit(setting, "Three");
    const cancelled = await serve.cancel(CALLER, first.id, CALL);
    expect(cancelled).toMatchObject({
      status: "cancelled",
      messages: [
        { id: taken.id, place: "history" },
        { id: left.id, place: "queue" },
      ],
    });
    expect(await history(setting, first.id)).toEqual(["One", "Two"]);
    await tick();
    setting.release("Three");
    expect((await serve.wait(CALLER, left.id, CALL)).message?.content).toBe("Answer to Three");
  });

  it("clears the queue where it is told to: messages are in the history, and nobody answers them", async () => {
    await using setting = aSetting();
    const { serve } = setting.world;
    const first = await admit(setting, "One");
    const steered = await admit(setting, "Two");
    const source = { kind: "base64" as const, data: "AA==" };
    const file = { type: "attachment", kind: "file", name: "a.bin", mimeType: null, source } as const;
    const queued = await admit(setting, "Three", { contents: [file] });
    const cancelled = await serve.cancel(CALLER, first.id, { ...CALL, queue: "clear" });
    expect(cancelled.messages).toEqual([
      { id: steered.id, place: "not_answered" },
      { id: queued.id, place: "not_answered" },
    ]);
    expect(await history(setting, first.id)).toEqual([
      "One",
      "Two",
      expect.stringContaining("Three\n[attachment 0: a.bin"),
    ]);
    expect(await serve.get(CALLER, steered.id)).toMatchObject({ place: "not_answered" });
    expect(await serve.get(CALLER, queued.id)).toMatchObject({
      status: "cancelled",
      error: { code: "cancelled", details: { place: "not_answered" } },
    });
    await tick();
    expect([...setting.hosts.keys()]).toEqual(["One"]);
    expect((await admit(setting, "Four")).status).toBe("queued");
    expect([...setting.hosts.keys()]).toEqual(["One", "Four"]);
  });

  it("of a run that waits leaves the one that goes on alone", async () => {
    await using setting = aSetting({}, false);
    const { serve } = setting.world;
    const first = await admit(setting, "One");
    const second = await admit(setting, "Two");
    const third = await admit(setting, "Three");
    const cancelled = await serve.cancel(CALLER, second.id, CALL);
    expect(cancelled.messages).toEqual([{ id: third.id, place: "queue" }]);
    expect((await serve.get(CALLER, first.id)).status).toBe("running");
  });
});
