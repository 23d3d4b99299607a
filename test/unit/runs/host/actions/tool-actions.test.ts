import { describe, expect, it } from "vitest";
import { FakeRunHost } from "../../../../fakes/fake-run-host.js";
import { performAction } from "../../../../support/perform-action.js";

describe("call_tool", () => {
  it("calls a tool with an object", async () => {
    const host = new FakeRunHost({ tools: { count: { run: ({ of }) => of } } });
    const call = { tool_call_id: "c1", tool_name: "count", parameters: { of: 3 } };
    expect(await performAction(host, "call_tool", call)).toEqual({ ok: true, result: 3 });
    expect(host.toolCalls).toEqual([{ id: "c1", name: "count", parameters: { of: 3 } }]);
  });

  it.each(["../c1", "..", "a/b", ""])(
    "refuses %o as the id of a call: it names a file of the box",
    async (id) => {
      const call = { tool_call_id: id, tool_name: "count", parameters: {} };
      await expect(performAction(new FakeRunHost(), "call_tool", call)).rejects.toMatchObject({
        code: "host.invalid_argument",
      });
    },
  );
});

describe("get_tool_detail", () => {
  it("describes a tool", async () => {
    const host = new FakeRunHost({ tools: { count: {} } });
    expect(await performAction(host, "get_tool_detail", { tool_name: "count" })).toMatchObject({
      description: "Does count.",
    });
  });
});

describe("save_tool_result", () => {
  it("keeps a long text in the box", async () => {
    const host = new FakeRunHost();
    expect(await performAction(host, "save_tool_result", { tool_call_id: "c1", text: "long" })).toBeNull();
    await performAction(host, "box_bind");
    expect(await performAction(host, "save_tool_result", { tool_call_id: "c1", text: "long" })).toMatch(
      /c1$/,
    );
  });
});
