import { describe, expect, it } from "vitest";
import { leaveOnAbort } from "../../../src/lib/leave-on-abort.js";

describe("leaveOnAbort", () => {
  it("gives what the work gives, and what it fails with", async () => {
    const { signal } = new AbortController();
    expect(await leaveOnAbort(Promise.resolve(7), { signal })).toBe(7);
    await expect(leaveOnAbort(Promise.reject(new Error("broken")), { signal })).rejects.toThrow("broken");
  });

  it("leaves with the signal's reason, while the work goes on", async () => {
    const controller = new AbortController();
    const left = leaveOnAbort(new Promise(() => undefined), controller);
    controller.abort(new Error("enough"));
    await expect(left).rejects.toThrow("enough");
  });

  it("does not wait for work whose signal has aborted before", async () => {
    const signal = AbortSignal.abort(new Error("before"));
    await expect(leaveOnAbort(Promise.resolve(7), { signal })).rejects.toThrow("before");
  });

  it("keeps a failure handled that comes after it has left", async () => {
    const controller = new AbortController();
    const late = Promise.reject(new Error("late"));
    const left = leaveOnAbort(late, controller);
    controller.abort(new Error("enough"));
    await expect(left).rejects.toThrow(/enough|late/);
  });
});
