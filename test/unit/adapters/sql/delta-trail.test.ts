import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  type DeltaTrail,
  keyframeBefore,
  type PackedEvent,
  packEvent,
  textBefore,
  unpackEvents,
} from "../../../../src/adapters/sql/delta-trail.js";
import { readJson, writeJson } from "../../../../src/adapters/sql/json-column.js";
import type { RunEvent } from "../../../../src/domain/run.js";

const LONG = "Zahlen für 报告 😀\ud800 \udc00\n\u0000".repeat(40);

function aDelta(content: unknown, sequence = 1): RunEvent {
  const data = { before: 1, chunk: { role: "assistant", content, is_final: false }, after: [content] };
  return { type: "message.delta", data, run_id: "run_1", sequence, timestamp: "2026-01-01T00:00:00.000Z" };
}

function aWarning(sequence: number): RunEvent {
  return { ...aDelta("no text of the answer", sequence), type: "warning" };
}

interface Written {
  readonly packed: readonly PackedEvent[];
  /** As each event left it. */
  readonly trails: readonly (DeltaTrail | null)[];
}

/** @param isKnown whether the writer knows the trail before this event */
function packAll(events: readonly RunEvent[], isKnown: (event: RunEvent) => boolean): Written {
  const packed: PackedEvent[] = [];
  const trails: (DeltaTrail | null)[] = [];
  for (const event of events) {
    const { trail, ...row } = packEvent(event, isKnown(event) ? (trails.at(-1) ?? null) : null);
    const data = readJson(z.record(z.string(), z.unknown()), writeJson(row.event.data));
    packed.push({ ...row, event: { ...row.event, data } });
    trails.push(trail);
  }
  return { packed, trails };
}

function keyframesOf(...contents: readonly unknown[]): readonly (number | null)[] {
  const events = contents.map((content, index) => aDelta(content, index + 1));
  return packAll(events, () => true).packed.map(({ keyframe }) => keyframe);
}

/** What the store does, without a database. */
function readPage(
  packed: readonly PackedEvent[],
  wanted: { readonly after: number; readonly limit: number; readonly trail: DeltaTrail | null },
): readonly RunEvent[] {
  const page = packed.slice(wanted.after, wanted.after + wanted.limit);
  const keyframe = keyframeBefore(page);
  if (keyframe === null) return unpackEvents(page);
  const start = textBefore(page, keyframe, wanted.trail);
  if (start !== null) return unpackEvents(page, start);
  const before = packed
    .slice(0, wanted.after)
    .filter((row) => row.event.sequence === keyframe || row.keyframe === keyframe);
  return unpackEvents([...before, ...page]).slice(before.length);
}

describe("packEvent", () => {
  const whole = packEvent(aDelta(LONG), null);

  it("keeps only what a text adds to the one before", () => {
    const packed = packEvent(aDelta(`${LONG}!`, 2), whole.trail);
    expect(packed).toMatchObject({ keyframe: 1, event: { sequence: 2, data: { chunk: { content: "!" } } } });
    expect(Object.keys(packed.event.data)).toEqual(["before", "chunk", "after"]);
  });

  it("keeps a text whole when the one before is unknown, or another event came between", () => {
    expect(packEvent(aDelta(`${LONG}!`, 2), null)).toMatchObject({ keyframe: null });
    expect(packEvent(aDelta(`${LONG}!`, 3), whole.trail)).toMatchObject({ keyframe: null });
    expect(packEvent(aDelta(`${LONG}!`, 1), whole.trail)).toMatchObject({ keyframe: null });
  });

  it("keeps a text whole that does not begin with the one before", () => {
    expect(keyframesOf(LONG, `-${LONG}`, LONG.slice(0, -1), LONG)).toEqual([null, null, null, 3]);
  });

  it("begins anew when what was added is longer than the snapshot", () => {
    const half = "x".repeat(LONG.length / 2 - 64);
    expect(keyframesOf(LONG, LONG + half, LONG + half + half)).toEqual([null, 1, 1]);
    expect(keyframesOf(LONG, LONG + half, `${LONG + half + half}x`)).toEqual([null, 1, null]);
  });

  it("leads on through events of another type", () => {
    const between = packEvent(aWarning(2), whole.trail);
    expect(between).toMatchObject({ keyframe: null, event: aWarning(2) });
    expect(packEvent(aDelta(LONG, 3), between.trail)).toMatchObject({ keyframe: 1 });
    expect(packEvent(aWarning(3), whole.trail).trail).toBeNull();
  });

  it("leaves data alone in which it finds no text", () => {
    const event = { ...aDelta("x"), data: { n: 1 } };
    expect(packEvent(event, null)).toEqual({ event, keyframe: null, trail: null });
    expect(keyframesOf(null, 7, ["x"])).toEqual([null, null, null]);
  });
});

describe("unpackEvents", () => {
  it("refuses a text whose keyframe is missing", () => {
    const { packed } = packAll([aDelta(LONG, 1), aDelta(LONG, 2)], () => true);
    expect(() => unpackEvents(packed.slice(1))).toThrow(expect.objectContaining({ code: "internal" }));
  });

  it("gives every page of every course of texts as it was, to the byte", () => {
    const text = fc.oneof(
      fc.nat(LONG.length).map((length) => LONG.slice(0, length)),
      fc.string({ unit: "binary" }),
    );
    const course = fc.array(fc.record({ text, isDelta: fc.boolean(), isKnown: fc.boolean() }), {
      maxLength: 40,
    });
    const growing = course.map((steps) =>
      steps.toSorted((one, other) => one.text.length - other.text.length),
    );
    const position = fc.record({
      after: fc.nat(40),
      limit: fc.integer({ min: 1, max: 9 }),
      seen: fc.nat(40),
    });
    fc.assert(
      fc.property(fc.oneof(course, growing), position, (steps, { after, limit, seen }) => {
        const events = steps.map((step, index) =>
          step.isDelta ? aDelta(step.text, index + 1) : aWarning(index + 1),
        );
        const { packed, trails } = packAll(events, ({ sequence }) => steps[sequence - 1]?.isKnown === true);
        const page = readPage(packed, { after, limit, trail: trails[seen] ?? null });
        expect(JSON.stringify(page)).toBe(JSON.stringify(events.slice(after, after + limit)));
      }),
      { numRuns: 500 },
    );
  });
});

describe("textBefore", () => {
  const events = [aDelta(LONG, 1), aDelta(`${LONG}a`, 2), aWarning(3), aDelta(`${LONG}abc`, 4)];
  const { packed, trails } = packAll(events, () => true);

  it.each([1, 2, 3])("goes back from the trail to the text after event %i", (after) => {
    const text = after === 1 ? LONG : `${LONG}a`;
    expect(textBefore(packed.slice(after), 1, trails[3] ?? null)).toEqual({ keyframe: 1, text });
  });

  it("does not know the text when the trail ends elsewhere or began elsewhere", () => {
    expect(textBefore(packed.slice(1, 3), 1, trails[3] ?? null)).toBeNull();
    expect(textBefore(packed.slice(2), 1, trails[1] ?? null)).toBeNull();
    expect(textBefore(packed.slice(2), 2, trails[3] ?? null)).toBeNull();
    expect(textBefore(packed.slice(2), 1, null)).toBeNull();
  });
});
