import { describe, expect, it } from "vitest";
import { ServiceError } from "../../../../src/domain/errors.js";
import { pullFollowUps } from "../../../../src/runners/local-agent/follow-ups.js";
import { FakeRunHost } from "../../../fakes/fake-run-host.js";

const CALL = { signal: new AbortController().signal };

function late(): never {
  throw new ServiceError("host.deadline_exceeded", "The run has no time left.");
}

describe("pullFollowUps", () => {
  it("makes user messages of what has come, and says which reply they follow", async () => {
    const host = new FakeRunHost({ steering: () => ["One", "Two"] });
    const after = { role: "assistant" as const, content: "So far." };
    expect(await pullFollowUps({ host, canSteer: true }, after, CALL)).toEqual([
      { role: "user", content: "One" },
      { role: "user", content: "Two" },
    ]);
    expect(host.actions).toEqual(["steering all after So far."]);
  });

  it("fails with what is no refusal", async () => {
    const pulling = pullFollowUps({ host: new FakeRunHost({ steering: late }), canSteer: true }, null, CALL);
    await expect(pulling).rejects.toMatchObject({ code: "host.deadline_exceeded" });
  });
});
