import { describe, expect, it } from "vitest";
import { placeOf } from "../../../src/box/session-place.js";
import { aSession } from "./box-world.js";

describe("placeOf", () => {
  it("names the box on its engine as the record does", () => {
    expect(placeOf({ ...aSession({ uid: 30_007 }), container: "berth-a-1" })).toEqual({
      sessionId: "ses_a",
      tenant: "main",
      uid: 30_007,
      volume: "berth-ws-a",
      container: "berth-a-1",
    });
  });
});
