import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { buildTrigger, filterEventData, toSeconds } from "../../../src/runs/build-trigger.js";
import type { GivenEvent } from "../../../src/runs/run-request.js";
import { aChat, anEvent } from "../../support/builders.js";
import { proves } from "../../support/proves.js";

const facts = { id: "run_1", chat: aChat(), createdAt: 1_700_000_000_500 };

function actorOf(event: Partial<GivenEvent>, chat = facts.chat) {
  return buildTrigger(anEvent(event), { ...facts, chat }).actor;
}

describe("buildTrigger", () => {
  it("takes a message for what its sender said, at the time it came in", () => {
    expect(buildTrigger(null, facts)).toEqual({
      event_type: "message.received",
      event_time: 1_700_000_000.5,
      source_event_type: null,
      actor: { actor_type: "user", id: "42", name: "Ann" },
      subject: { type: "message", id: "run_1", data: {} },
      data: {},
    });
  });

  it("brings times in milliseconds and microseconds to seconds", () => {
    proves("CTX-03");
    expect(toSeconds(1_700_000_000)).toBe(1_700_000_000);
    expect(toSeconds(1_700_000_000_250)).toBe(1_700_000_000.25);
    expect(toSeconds(1_700_000_000_250_000)).toBe(1_700_000_000.25);
    const time = 1_700_000_000_250;
    expect(buildTrigger(anEvent({ time }), facts).event_time).toBe(1_700_000_000.25);
    expect(buildTrigger(anEvent({ time: time * 1000 }), facts).event_time).toBe(1_700_000_000.25);
    expect(buildTrigger(anEvent({ time: null }), facts).event_time).toBe(1_700_000_000.5);
  });

  it("never leaves a time above 1e10", () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: Number.MAX_VALUE, noNaN: true }), (time) => {
        expect(toSeconds(time)).toBeLessThanOrEqual(1e10);
      }),
    );
  });

  it("drops long texts and objects of the platform from the data, and keeps small values", () => {
    proves("CTX-04");
    const data = {
      text: "x".repeat(10_000),
      raw: { platform: "object" },
      list: [1],
      none: null,
      _hidden: 1,
      odd: Number.NaN,
      count: 3,
      is_bot: false,
      summary: "short",
      just: "x".repeat(512),
      wide: "é".repeat(257),
    };
    const kept = { count: 3, is_bot: false, summary: "short", just: "x".repeat(512) };
    expect(filterEventData(data)).toEqual(kept);
    expect(buildTrigger(anEvent({ data }), facts).data).toEqual(kept);
  });

  it.each([
    ["message.received", { type: "message", id: "run_1" }, "42"],
    ["message.recalled", { type: "message", id: null }, null],
    ["group.member_joined", { type: "group", id: "42" }, "42"],
    ["friend.request_received", { type: "friend_request", id: null }, "42"],
  ] as const)("knows what %s is about and who caused it where nobody says", (type, subject, actorId) => {
    const trigger = buildTrigger(anEvent({ type, actor: null, subject: null }), facts);
    expect(trigger.subject).toEqual({ ...subject, data: {} });
    expect(trigger.actor.id).toBe(actorId);
  });

  it("names the system where nobody is known to have caused it", () => {
    const system = { actor_type: "system", id: null, name: null };
    expect(actorOf({ type: "message.recalled", actor: null })).toEqual(system);
    expect(actorOf({ type: "group.member_joined", actor: null }, aChat({ sender_id: null }))).toEqual(system);
    const lone = buildTrigger(anEvent({ type: "friend.request_received", actor: null }), {
      ...facts,
      chat: null,
    });
    expect(lone.actor).toEqual(system);
  });

  it("keeps actor and subject as they were given, without inline content", () => {
    const actor = { actor_type: "bot", id: "9", name: null };
    const picture = `data:image/png;base64,${"A".repeat(2000)}`;
    const subject = { type: "album", id: "a1", data: { role: "guest", pages: [{ picture }] } };
    const trigger = buildTrigger(anEvent({ actor, subject }), facts);
    expect(trigger.actor).toEqual(actor);
    expect(trigger.subject).toEqual({
      type: "album",
      id: "a1",
      data: { role: "guest", pages: [{ picture: "[image/png: inline content left out]" }] },
    });
  });
});
