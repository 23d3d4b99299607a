import { describe, expect, it } from "vitest";
import type { HostRuns } from "../../../../../src/ports/run-host.js";
import { FakeRunHost } from "../../../../fakes/fake-run-host.js";
import { performAction } from "../../../../support/perform-action.js";

describe("the actions about runs", () => {
  it("ask the host for the run that the payload names", async () => {
    const asked: unknown[] = [];
    const note =
      (name: keyof HostRuns) =>
      async (...[about, given]: readonly unknown[]): Promise<never> => {
        asked.push(name === "appendResult" ? [name, about, given] : [name, about]);
        throw new Error("asked");
      };
    const host = new FakeRunHost({
      runs: {
        get: note("get"),
        list: note("list"),
        eventsPage: note("eventsPage"),
        cancel: note("cancel"),
        appendResult: note("appendResult"),
      },
    });
    const result = { type: "warning", data: {} };
    for (const [action, payload] of [
      ["run_get", { run_id: "run_7" }],
      ["run_list", { status: "failed", cursor: "run_9", limit: 3 }],
      ["run_events_page", { run_id: "run_7", cursor: "4", limit: 3 }],
      ["run_cancel", { run_id: "run_7" }],
      ["append_result", { run_id: "run_7", result }],
    ] as const)
      await expect(performAction(host, action, payload)).rejects.toThrow("asked");
    expect(asked).toEqual([
      ["get", "run_7"],
      ["list", { status: "failed", cursor: "run_9", limit: 3 }],
      ["eventsPage", { runId: "run_7", cursor: "4", limit: 3 }],
      ["cancel", "run_7"],
      ["appendResult", "run_7", result],
    ]);
  });

  it("refuse what cannot be the id of a run", async () => {
    for (const action of ["run_get", "run_events_page", "run_cancel"])
      await expect(performAction(new FakeRunHost(), action, { run_id: "7" })).rejects.toMatchObject({
        code: "host.invalid_argument",
      });
  });
});
