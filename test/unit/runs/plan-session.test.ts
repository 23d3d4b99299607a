import { describe, expect, it } from "vitest";
import { planSession, type SessionFacts } from "../../../src/runs/plan-session.js";
import { aChat, aTool, someResources } from "../../support/builders.js";
import { textLike } from "../../support/text-like.js";

const facts: SessionFacts = {
  tenant: "main",
  runId: "run_1",
  chat: aChat(),
  actorId: "42",
  eventId: "host:1",
  eventType: "message.received",
  params: { project: "p1" },
  requiredKey: null,
};
const withExec = someResources({ tools: [aTool()] });

describe("planSession", () => {
  it("renders the runner's template from what is known of the run", () => {
    const key = planSession({ template: "{launcher_type}_{launcher_id}" }, withExec, facts);
    expect(key?.key).toBe("person_42");
  });

  it.each([
    ["{run_id}", "run_1"],
    ["{event_id}", "host:1"],
    ["{event_type}", "message.received"],
    ["{sender_id}", "42"],
    ["{project}", "p1"],
  ])("knows the variable %s", (template, key) => {
    expect(planSession({ template }, withExec, facts)?.key).toBe(key);
  });

  it("uses the required key, whatever the template is", () => {
    const required = { ...facts, requiredKey: "global" };
    const key = planSession({ template: "{nope}{{" }, withExec, required);
    expect(key).toEqual(planSession({ template: "{global}" }, withExec, facts));
    expect(planSession(null, withExec, required)).toBeNull();
  });

  it("plans no box for a runner that would not use one", () => {
    expect(planSession(null, withExec, facts)).toBeNull();
  });

  it.each(["exec", "read", "write", "edit", "glob", "grep"])("plans one for the tool %s alone", (name) => {
    const resources = someResources({ tools: [aTool({ tool_name: name })] });
    expect(planSession({ template: "{global}" }, resources, facts)).not.toBeNull();
  });

  it("plans no box where no exec or file tool is granted", () => {
    const resources = someResources({ tools: [aTool({ tool_name: "export_box_files" })] });
    expect(planSession({ template: "{nope}" }, resources, facts)).toBeNull();
    expect(planSession({ template: "{nope}" }, someResources(), facts)).toBeNull();
  });

  it("fails with the name of a variable that is missing", () => {
    const chat = aChat({ sender_id: null });
    expect(() =>
      planSession({ template: "{sender_id}" }, withExec, { ...facts, chat, actorId: null }),
    ).toThrow(
      expect.objectContaining({
        code: "session.variable_missing",
        message: textLike(/"sender_id"/),
      }),
    );
  });

  it("takes who caused the event for the sender that the chat does not name", () => {
    const chat = aChat({ sender_id: null });
    expect(planSession({ template: "{sender_id}" }, withExec, { ...facts, chat, actorId: "7" })?.key).toBe(
      "7",
    );
  });

  it("puts nothing in the place of a chat that an event does not have", () => {
    const lone = { ...facts, chat: null };
    expect(() => planSession({ template: "{launcher_type}_{launcher_id}" }, withExec, lone)).toThrow(
      expect.objectContaining({ code: "session.variable_missing", message: textLike(/"launcher_type"/) }),
    );
    expect(planSession({ template: "{run_id}" }, withExec, lone)?.key).toBe("run_1");
  });

  it("keeps tenants apart", () => {
    const plan = { template: "{launcher_id}" };
    const one = planSession(plan, withExec, facts);
    const other = planSession(plan, withExec, { ...facts, tenant: "other" });
    expect(one?.key).toBe(other?.key);
    expect(one?.identity).not.toBe(other?.identity);
  });
});
