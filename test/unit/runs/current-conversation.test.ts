import { describe, expect, it } from "vitest";
import { openMemoryStores } from "../../../src/adapters/memory/open-memory-stores.js";
import type { RunRecord } from "../../../src/ports/run-store.js";
import { baseKey, conversationKey } from "../../../src/runs/conversation-key.js";
import { currentConversation } from "../../../src/runs/current-conversation.js";
import { FakeClock } from "../../fakes/fake-clock.js";
import { ScriptedRunner } from "../../fakes/scripted-runner.js";
import { aChat, aPipeline, aRequest, CALLER } from "../../support/builders.js";
import { aRun } from "../../support/records.js";
import { aRunWorld, NEVER } from "../../support/run-world.js";

const CHAT = aChat();
const BASE = conversationKey(CHAT, "default", {});
const LATE = 100_000;

/** The key of a message that comes 100 s after the epoch, in a conversation that lives for a minute. */
async function keyAfter(runs: readonly Partial<RunRecord>[], expireSec = 60): Promise<string> {
  const stores = openMemoryStores({ clock: new FakeClock() });
  for (const run of runs) await stores.runs.create(aRun({ chat: CHAT, conversation: BASE, ...run }));
  const facts = { tenant: "main", chat: CHAT, base: BASE, expireSec, now: LATE };
  return currentConversation(stores.runs, facts);
}

const ended = { state: "completed", createdAt: 1000, endedAt: 39_999 } as const;

describe("currentConversation", () => {
  it("goes on for ever where nothing else was said", async () => {
    expect(await keyAfter([ended], 0)).toBe(BASE);
  });

  it("begins with the first message", async () => {
    expect(await keyAfter([])).toBe(BASE);
  });

  it("goes on up to the limit, and is over after it", async () => {
    expect(await keyAfter([{ ...ended, endedAt: 40_000 }])).toBe(BASE);
    const next = await keyAfter([ended]);
    expect(next).not.toBe(BASE);
    expect(baseKey(next)).toBe(BASE);
  });

  it("is the same for all messages that come after one silence", async () => {
    expect(await keyAfter([ended])).toBe(await keyAfter([ended]));
  });

  it("is never over while a run of it goes on", async () => {
    expect(await keyAfter([{ state: "running", createdAt: 1000 }])).toBe(BASE);
  });

  it("goes on in its newest stretch, and ends that as well", async () => {
    const second = await keyAfter([{ ...ended, id: "run_1" }]);
    const recent = { ...ended, id: "run_2", conversation: second, createdAt: 2000 } as const;
    expect(
      await keyAfter([
        { ...ended, id: "run_1" },
        { ...recent, endedAt: 90_000 },
      ]),
    ).toBe(second);
    const third = await keyAfter([{ ...ended, id: "run_1" }, recent]);
    expect([BASE, second]).not.toContain(third);
  });

  it("is not kept alive by another thread of the chat", async () => {
    const thread = conversationKey(aChat({ thread_id: "t" }), "default", {});
    const elsewhere = {
      ...ended,
      id: "run_2",
      createdAt: 2000,
      endedAt: 90_000,
      conversation: thread,
    } as const;
    expect(await keyAfter([{ ...ended, id: "run_1" }, elsewhere])).not.toBe(BASE);
  });
});

describe("a conversation that was silent for longer than its expire-time", () => {
  it("begins anew: the next message has no history, and shares none with the one before", async () => {
    const runner = new ScriptedRunner();
    await using world = aRunWorld({ runner, pipelines: [aPipeline({ expireSec: 60 })] });
    const call = { signal: NEVER };
    const keys: string[] = [];
    for (const wait of [0, 30_000, 61_000]) {
      world.clock.advance(wait);
      const { run } = await world.serve.admit(aRequest(), CALLER, call);
      await world.serve.wait(CALLER, run.id, call);
      keys.push((await world.record(run.id)).conversation);
    }
    expect(new Set(keys.slice(0, 2)).size).toBe(1);
    expect(keys[2]).not.toBe(keys[0]);
    expect(await world.transcriptOf(keys[2] ?? "")).toHaveLength(1);
    const told = runner.contexts.map(({ context, conversation }) => [
      context.conversation_id,
      conversation?.conversation_id,
    ]);
    const [first, , last] = runner.contexts;
    const renewed = `person_42_after_${runner.contexts[1]?.run_id ?? ""}`;
    expect(told).toEqual([
      ["person_42", "person_42"],
      ["person_42", "person_42"],
      [renewed, renewed],
    ]);
    expect([first?.context.has_history_before, last?.context.has_history_before]).toEqual([false, false]);
  });
});
