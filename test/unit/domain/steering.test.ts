import { describe, expect, it } from "vitest";
import { AUDIT_TYPES, STEERING_PLACES, steeredMessageSchema } from "../../../src/domain/steering.js";

const MESSAGE = {
  id: "run_2",
  object: "run",
  status: "steered",
  absorbed_by: "run_1",
  place: "waiting",
  text: "And in French?",
  created_at: "2026-01-01T00:00:00.000Z",
};

describe("steeredMessageSchema", () => {
  it.each(STEERING_PLACES)("takes a message whose place is %s", (place) => {
    expect(steeredMessageSchema.parse({ ...MESSAGE, place })).toEqual({ ...MESSAGE, place });
  });

  it.each([{ place: "lost" }, { status: "queued" }, { id: "ses_1" }, { absorbed_by: "file_1" }])(
    "refuses another place, another status and ids of other things: %j",
    (wrong) => {
      expect(steeredMessageSchema.safeParse({ ...MESSAGE, ...wrong }).success).toBe(false);
    },
  );
});

describe("AUDIT_TYPES", () => {
  it("has one record for each thing that can happen to a steered message", () => {
    expect(AUDIT_TYPES).toEqual([
      "steering.queued",
      "steering.injected",
      "steering.requeued",
      "steering.dropped",
    ]);
  });
});
