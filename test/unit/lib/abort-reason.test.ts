import { describe, expect, it } from "vitest";
import { abortReason } from "../../../src/lib/abort-reason.js";

describe("abortReason", () => {
  it("is the error that was given", () => {
    const reason = new Error("The client left.");
    expect(abortReason(AbortSignal.abort(reason))).toBe(reason);
    expect(abortReason(AbortSignal.abort()).name).toBe("AbortError");
  });

  it.each(["late", 0, null])("carries %j, which is no error, as the cause of one", (reason) => {
    expect(abortReason(AbortSignal.abort(reason))).toMatchObject({ message: "Aborted.", cause: reason });
  });
});
