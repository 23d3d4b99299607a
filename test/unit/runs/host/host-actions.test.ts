import { describe, expect, it } from "vitest";
import { HOST_ACTIONS } from "../../../../src/runs/host/host-actions.js";
import { FakeRunHost } from "../../../fakes/fake-run-host.js";
import { performAction } from "../../../support/perform-action.js";

describe("hostActions", () => {
  it.each(HOST_ACTIONS.filter((name) => name !== "box_acquire"))(
    "refuses a payload that does not fit %s",
    async (action) => {
      const refused = performAction(new FakeRunHost(), action, { unknown: true });
      await expect(refused).rejects.toMatchObject({ code: "host.invalid_argument" });
    },
  );

  it("refuses names that are no action, those of every object among them", async () => {
    for (const action of ["no_such", "constructor", "__proto__"])
      await expect(performAction(new FakeRunHost(), action)).rejects.toMatchObject({
        code: "host.not_found",
      });
  });
});
