import { describe, expect, it } from "vitest";
import type { Chat } from "../../../../src/domain/event.js";
import type { RunContext } from "../../../../src/domain/run-context.js";
import type { RunHost } from "../../../../src/ports/run-host.js";
import type { EventRequest, MessageRequest } from "../../../../src/runs/run-request.js";
import { message, ScriptedRunner } from "../../../fakes/scripted-runner.js";
import {
  aChat,
  aDescriptor,
  anEvent,
  anEventRequest,
  aPipeline,
  aRequest,
  CALLER,
} from "../../../support/builders.js";
import { proves } from "../../../support/proves.js";
import { aRunWorld, NEVER, type RunWorld } from "../../../support/run-world.js";
import { textLike } from "../../../support/text-like.js";

const CALL = { signal: NEVER };
const EVERYTHING = { history: ["page", "search"], events: ["get", "page"] };
const EVENTS = ["message.received", "group.member_joined"] as const;

type Ask = (host: RunHost, context: RunContext) => Promise<unknown>;

/** A world whose runner asks its host, and answers with a text of its own. */
function asking(ask: { now: Ask }, permissions: Record<string, readonly string[]> = EVERYTHING): RunWorld {
  const runner = new ScriptedRunner({
    descriptor: aDescriptor({ permissions }),
    play: async function* (context, host) {
      await ask.now(host, context);
      yield { ...message(`Re: ${context.input.text ?? "event"}`), run_id: context.run_id };
    },
  });
  const scopes = ["runner"] as const;
  const state = { enable_state: true, scopes: [...scopes] };
  return aRunWorld({ runner, pipelines: [aPipeline({ events: EVENTS, state })] });
}

async function run(world: RunWorld, request: MessageRequest | EventRequest): Promise<string> {
  const { run: admitted } = await world.serve.admit(request, CALLER, CALL);
  const ended = await world.serve.wait(CALLER, admitted.id, CALL);
  return ended.error?.message ?? ended.status;
}

/** Sends a message to a chat, and asks the host of its run. @returns what it answered, or how it refused */
async function answerIn(chat: Partial<Chat>, ask: Ask, before: readonly Partial<Chat>[] = []) {
  const question: { now: Ask } = { now: async () => null };
  await using world = asking(question);
  for (const [index, other] of before.entries())
    await run(world, aRequest({ chat: aChat(other), text: `message ${index}` }));
  let answer: unknown = null;
  question.now = async (host, context) => {
    answer = await ask(host, context).catch((error: unknown) => error);
  };
  await run(world, aRequest({ chat: aChat(chat), text: "question" }));
  return { answer, logged: world.logger.lines.map(({ fields }) => fields) };
}

const texts: Ask = async (host) => {
  const { items } = await host.historyPage({ direction: "forward" }, CALL);
  return items.map(({ message: { content } }) => content);
};
const summaries: Ask = async (host) => {
  const { items } = await host.eventPage({ direction: "forward" }, CALL);
  return items.map(({ summary }) => summary);
};

const ownEvent: Ask = (host, { event }) => host.eventGet(event.event_id, CALL);
const firstEvent: Ask = async (host) => {
  const { items } = await host.eventPage({ direction: "forward", limit: 1 }, CALL);
  return host.eventGet(items[0]?.event_id ?? "", CALL);
};

function find(text: string): Ask {
  return async (host) => (await host.historySearch({ text }, CALL)).items.map((item) => item.message.content);
}

describe("PastCalls", () => {
  it("refuses the history and the events of another conversation or thread, and logs it", async () => {
    proves("AUTH-15");
    const place = { launcher_id: "a", thread_id: "t1" };
    const other = { launcher_id: "b", thread_id: "t1" };
    const refusal = { code: "host.unauthorized", message: textLike(/not authorized/) };
    const elsewhere = { direction: "backward" as const, conversationId: "person_b" };
    for (const ask of [
      (host: RunHost) => host.historyPage(elsewhere, CALL),
      (host: RunHost) => host.historySearch({ ...elsewhere, text: "message" }, CALL),
      (host: RunHost) => host.eventPage(elsewhere, CALL),
      (host: RunHost) => host.historyPage({ direction: "backward", threadId: "t2" }, CALL),
      (host: RunHost) => host.historyPage({ direction: "backward", threadId: null }, CALL),
    ]) {
      const { answer, logged } = await answerIn(place, ask, [other]);
      expect(answer).toMatchObject(refusal);
      expect(logged).toContainEqual(expect.objectContaining({ code: "host.unauthorized" }));
    }
    const own = { direction: "forward" as const, conversationId: "person_a", threadId: "t1" };
    const { answer } = await answerIn(place, (host) => host.historyPage(own, CALL), [other]);
    expect(answer).toMatchObject({ items: [{ message: { content: "question" } }] });
  });

  it("shows of one conversation the rows of the own bot and thread only; no thread is equal to none but itself", async () => {
    proves("AUTH-16");
    const places = [
      { bot_id: "web", thread_id: "t1" },
      { bot_id: "web", thread_id: "t2" },
      { bot_id: "web", thread_id: null },
      { bot_id: "app", thread_id: "t1" },
      { bot_id: null, thread_id: null },
      { bot_id: null, thread_id: "null" },
    ].map((place) => ({ ...place, conversation_id: "c1" }));
    for (const [index, place] of places.entries()) {
      const said = `message ${index}`;
      expect((await answerIn(place, texts, places)).answer).toEqual([said, `Re: ${said}`, "question"]);
      expect((await answerIn(place, summaries, places)).answer).toEqual([said, "question"]);
    }
  });

  it("finds texts literally, in any case", async () => {
    const before = [aChat()];
    expect((await answerIn({}, find("MESSAGE"), before)).answer).toEqual(["Re: message 0", "message 0"]);
    for (const pattern of ["mess%", "m_ssage", "message .", "%", "_", "\\"])
      expect((await answerIn({}, find(pattern), before)).answer).toEqual([]);
  });

  it("gives the event of the run, and those before it, by their ids", async () => {
    expect((await answerIn({}, ownEvent)).answer).toMatchObject({
      summary: "question",
      conversation_id: "person_42",
    });
    expect((await answerIn({}, firstEvent, [aChat()])).answer).toMatchObject({ summary: "message 0" });
    expect((await answerIn({}, (host) => host.eventGet("host:none", CALL))).answer).toMatchObject({
      code: "host.not_found",
    });
  });

  it("gives at most 100 events", async () => {
    const question: { now: Ask } = { now: async () => null };
    await using world = asking(question);
    for (let i = 0; i < 104; i += 1) await run(world, aRequest());
    let page: { items: readonly unknown[]; has_more: boolean } | null = null;
    question.now = async (host) => {
      page = await host.eventPage({ direction: "backward", limit: 1000 }, CALL);
    };
    await run(world, aRequest());
    expect(page).toMatchObject({ has_more: true });
    expect(page?.["items"]).toHaveLength(100);
  });

  it("has no history for an event without a conversation, but its own event and the state of the runner", async () => {
    proves("CTX-09");
    const answers: unknown[] = [];
    const question: { now: Ask } = { now: async () => null };
    await using world = asking(question);
    question.now = async (host, { context, event }) => {
      answers.push(context.available_apis, context.conversation_id);
      const value = { scope: "runner", key: "k", value: 7 };
      await host.state.set(value, CALL);
      answers.push(await host.state.get({ scope: "runner", key: "k" }, CALL));
      answers.push(await host.eventGet(event.event_id, CALL));
      const page = { direction: "backward" as const };
      for (const refused of [
        host.historyPage(page, CALL),
        host.historySearch({ text: "a" }, CALL),
        host.eventPage(page, CALL),
      ])
        answers.push(await refused.catch((error: unknown) => error));
    };
    const lone = anEventRequest({ chat: null, event: anEvent({ data: { summary: "One joined." } }) });
    expect(await run(world, lone)).toBe("completed");
    const refusal = { code: "host.unauthorized" };
    expect(answers).toMatchObject([
      {
        history_page: false,
        history_search: false,
        event_page: false,
        event_get: true,
        state: true,
      },
      null,
      7,
      { summary: "One joined.", conversation_id: null },
      refusal,
      refusal,
      refusal,
    ]);
  });

  it("never shows one event without a conversation to another", async () => {
    const ids: string[] = [];
    const answers: unknown[] = [];
    const question: { now: Ask } = { now: async () => null };
    await using world = asking(question);
    question.now = async (host, { event }) => {
      ids.push(event.event_id);
      answers.push(await host.eventGet(ids[0] ?? "", CALL).catch((error: unknown) => error));
    };
    await run(world, anEventRequest({ chat: null }));
    await run(world, anEventRequest({ chat: null }));
    expect(answers).toMatchObject([{ event_id: ids[0] }, { code: "host.not_found" }]);
  });

  it.each([
    ["history_page", (host: RunHost) => host.historyPage({ direction: "backward" }, CALL)],
    ["history_search", (host: RunHost) => host.historySearch({ text: "a" }, CALL)],
    ["event_get", (host: RunHost) => host.eventGet("host:1", CALL)],
    ["event_page", (host: RunHost) => host.eventPage({ direction: "backward" }, CALL)],
  ])("refuses %s to a runner that may not ask for it", async (action, ask) => {
    let refusal: unknown = null;
    const now: Ask = async (host) => {
      refusal = await ask(host).catch((error: unknown) => error);
    };
    await using world = asking({ now }, {});
    await run(world, aRequest());
    expect(refusal).toMatchObject({
      code: "host.unauthorized",
      message: `This run is not authorized for ${action}.`,
    });
  });
});
