import { describe, expect, it } from "vitest";
import { FakeRunHost } from "../../../../fakes/fake-run-host.js";
import { performAction } from "../../../../support/perform-action.js";

describe("the actions about the box", () => {
  it("bind the run's box and import its attachments", async () => {
    const host = new FakeRunHost();
    expect(await performAction(host, "box_bind")).toMatchObject({
      session_id: "ses_1",
      inbox: "/workspace/inbox/run_1",
    });
    expect(await performAction(host, "import_attachments")).toEqual([]);
  });

  it("pass refusals on", async () => {
    const host = new FakeRunHost();
    await expect(performAction(host, "box_status")).rejects.toMatchObject({ code: "box.disabled" });
    await expect(performAction(host, "box_acquire", { reuse_key: "a" })).rejects.toMatchObject({
      code: "box.forbidden",
    });
  });
});
