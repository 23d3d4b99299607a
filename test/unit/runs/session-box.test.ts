import { describe, expect, it } from "vitest";
import { sessionBoxOf } from "../../../src/runs/session-box.js";
import { aRunWorld, NEVER } from "../../support/run-world.js";

describe("sessionBoxOf", () => {
  it("gives none for a run without a session", async () => {
    await using world = aRunWorld();
    expect(sessionBoxOf(world.boxes, { tenant: "main", session: null })).toBeNull();
  });

  it("makes the box run and keeps it like a job does", async () => {
    await using world = aRunWorld();
    const key = { key: "person_42", identity: "id" };
    const { id } = await world.boxes.findOrCreateSession("main", key, { signal: NEVER });
    const box = sessionBoxOf(world.boxes, { tenant: "main", session: { id, key: "person_42" } });
    expect(box?.sessionId).toBe(id);
    {
      await using _held = await box?.hold({ signal: NEVER });
      expect(world.boxes.isInUse(id)).toBe(false);
      expect(await world.boxes.listBoxes("main", { signal: NEVER })).toMatchObject([{ state: "ready" }]);
    }
    const elsewhere = sessionBoxOf(world.boxes, { tenant: "other", session: { id, key: "person_42" } });
    await expect(elsewhere?.hold({ signal: NEVER })).rejects.toMatchObject({ code: "session.not_found" });
  });
});
