import { describe, expect, it } from "vitest";
import { canonicalStateKey, stateSettingsSchema } from "../../../src/domain/state.js";

describe("stateSettingsSchema", () => {
  it("switches state on and leaves the scopes to the kind of event, where nothing is said", () => {
    expect(stateSettingsSchema.parse({})).toEqual({ enable_state: true, scopes: null });
  });

  it.each([{ enable_state: "true" }, { scopes: ["everything"] }, { scopes: "actor" }, { enabled: true }])(
    "refuses %j",
    (settings) => {
      expect(stateSettingsSchema.safeParse(settings).success).toBe(false);
    },
  );
});

describe("canonicalStateKey", () => {
  it("makes one entry of the two names of the outside conversation", () => {
    expect(canonicalStateKey("conversation_id")).toBe("external.conversation_id");
    expect(canonicalStateKey("external.conversation_id")).toBe("external.conversation_id");
    expect(canonicalStateKey("external.service")).toBe("external.service");
  });
});
