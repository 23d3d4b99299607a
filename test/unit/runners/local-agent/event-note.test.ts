import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { RunContext } from "../../../../src/domain/run-context.js";
import { eventNote } from "../../../../src/runners/local-agent/event-note.js";
import { FakeClock } from "../../../fakes/fake-clock.js";
import { FakeRunHost } from "../../../fakes/fake-run-host.js";
import { contextOf } from "./run-agent.js";

const noteSchema = z.looseObject({ subject: z.looseObject({}), truncated: z.boolean().optional() });

function noteOf(fields: Partial<RunContext>): string | null {
  return eventNote({ ...contextOf({}, new FakeRunHost(), new FakeClock()), ...fields });
}

function joined(data: RunContext["event"]["data"] = {}): RunContext["event"] {
  return {
    event_id: "host:1",
    event_type: "group.member_joined",
    event_time: 1,
    source: "rest",
    source_event_type: "chat.members.added",
    data,
  };
}

describe("eventNote", () => {
  it("says nothing of a message", () => {
    expect(noteOf({})).toBeNull();
  });

  it("tells what happened, who caused it and what it is about, as data", () => {
    const actor = { actor_type: "user", id: "7", name: "Bo" };
    const subject = { type: "group", id: "g1", data: { role: "guest" } };
    const note = noteOf({ event: joined({ count: 2 }), actor, subject });
    expect(JSON.parse(note ?? "")).toMatchObject({
      type: "event",
      trust: "untrusted_reference_data",
      event_type: "group.member_joined",
      source_event_type: "chat.members.added",
      actor,
      subject,
      data: { count: 2 },
    });
  });

  it("stays within 8000 characters, and says what it leaves out", () => {
    const subject = { type: "group", id: "g1", data: { text: "x".repeat(9000) } };
    const note = noteOf({ event: joined({ count: 2 }), subject }) ?? "";
    expect(note.length).toBeLessThanOrEqual(8000);
    expect(JSON.parse(note)).toMatchObject({ data: { count: 2 }, truncated: true });
    expect(noteSchema.parse(JSON.parse(note)).subject).toEqual({ type: "group", id: "g1" });
    const wide = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`f${i}`, "x".repeat(500)]));
    const least = noteOf({ event: joined(wide), subject }) ?? "";
    expect(least.length).toBeLessThanOrEqual(8000);
    expect(noteSchema.parse(JSON.parse(least))).toMatchObject({ truncated: true });
  });
});
