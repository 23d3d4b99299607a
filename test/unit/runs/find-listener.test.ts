import { describe, expect, it } from "vitest";
import { findListener } from "../../../src/runs/find-listener.js";
import { aPipeline, pipelinesOf } from "../../support/builders.js";

const pipelines = pipelinesOf(
  aPipeline({ id: "chat" }),
  aPipeline({ id: "door", events: ["group.member_joined", "message.recalled"] }),
  aPipeline({ id: "desk", events: ["message.recalled"] }),
);

describe("findListener", () => {
  it("finds the one pipeline that listens to the type", () => {
    expect(findListener(pipelines, "message.received", null)).toBe("chat");
    expect(findListener(pipelines, "group.member_joined", null)).toBe("door");
  });

  it("takes the pipeline that the caller names, whatever it listens to", () => {
    expect(findListener(pipelines, "message.recalled", "chat")).toBe("chat");
  });

  it("refuses an event that several pipelines listen to", () => {
    expect(() => findListener(pipelines, "message.recalled", null)).toThrow(
      expect.objectContaining({ code: "pipeline.ambiguous", hint: "Name one of: door, desk." }),
    );
  });

  it("says that none listens, and which there are", () => {
    expect(() => findListener(pipelines, "friend.request_received", null)).toThrow(
      expect.objectContaining({
        code: "pipeline.not_found",
        message: "No pipeline listens to friend.request_received.",
        hint: "Name one of: chat, door, desk; or add the type to the `events` of one.",
      }),
    );
  });
});
