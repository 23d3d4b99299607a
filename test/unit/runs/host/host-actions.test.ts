import { describe, expect, it } from "vitest";
import type { HostActionAnswer } from "../../../../src/ports/host-actions.js";
import { HOST_ACTIONS, hostActions } from "../../../../src/runs/host/host-actions.js";
import { FakeRunHost } from "../../../fakes/fake-run-host.js";
import { ScriptedModel, text } from "../../../fakes/scripted-model.js";
import { NEVER } from "../../../support/run-world.js";

const PROMPT = [{ role: "system", content: "Be kind." }] as const;
const CALL = { signal: NEVER };
const ASK = { model_id: "main", messages: [{ role: "user", content: "Hello" }] };

async function valueOf(host: FakeRunHost, action: string, payload: unknown = {}): Promise<unknown> {
  const answer = await hostActions.perform(host, { action, payload }, CALL);
  return answer.kind === "value" ? answer.value : collect(answer);
}

async function collect(answer: Extract<HostActionAnswer, { kind: "stream" }>): Promise<readonly unknown[]> {
  const values: unknown[] = [];
  for await (const value of answer.values) values.push(value);
  return values;
}

describe("hostActions", () => {
  it("calls models, whole and in pieces", async () => {
    using model = new ScriptedModel([text("Hi"), text(["Hi", " there"])]);
    const host = new FakeRunHost({ models: { main: model } });
    expect(
      await valueOf(host, "invoke_llm", { ...ASK, max_output_tokens: 9, remove_think: true }),
    ).toMatchObject({
      message: { role: "assistant", content: "Hi" },
    });
    expect(host.modelCalls[0]).toMatchObject({
      modelId: "main",
      maxOutputTokens: 9,
      removeThink: true,
      tools: [],
    });
    const pieces = await valueOf(host, "invoke_llm_stream", ASK);
    expect(pieces).toEqual(expect.arrayContaining([expect.objectContaining({ text: " there" })]));
  });

  it("calls tools and describes them", async () => {
    const host = new FakeRunHost({ tools: { count: { run: ({ of }) => of } } });
    const call = { tool_call_id: "c1", tool_name: "count", parameters: { of: 3 } };
    expect(await valueOf(host, "call_tool", call)).toEqual({ ok: true, result: 3 });
    expect(host.toolCalls).toEqual([{ id: "c1", name: "count", parameters: { of: 3 } }]);
    expect(await valueOf(host, "get_tool_detail", { tool_name: "count" })).toMatchObject({
      description: "Does count.",
    });
  });

  it("reads the prompt, the history and images", async () => {
    const host = new FakeRunHost({
      prompt: PROMPT,
      history: [
        { sequence: 1, run_id: "run_0", event_id: null, message: PROMPT[0], partial: false, created_at: 1 },
      ],
      images: { "attachment-0": { mimeType: "image/png", base64: "AA==", sizeBytes: 1 } },
    });
    expect(await valueOf(host, "get_prompt")).toEqual(PROMPT);
    expect(await valueOf(host, "history_page", { limit: 5, content_chars: 100 })).toMatchObject({
      has_more: false,
    });
    expect(await valueOf(host, "read_image", { reference: "attachment-0", max_bytes: 10 })).toEqual({
      mime_type: "image/png",
      base64: "AA==",
      bytes: 1,
    });
    expect(await valueOf(host, "read_image", { reference: "other", max_bytes: 10 })).toBeNull();
  });

  it("works with the box of the run", async () => {
    const host = new FakeRunHost();
    await expect(valueOf(host, "box_status")).rejects.toMatchObject({ code: "box.disabled" });
    await expect(valueOf(host, "box_acquire", { reuse_key: "a" })).rejects.toMatchObject({
      code: "box.forbidden",
    });
    expect(await valueOf(host, "box_bind")).toMatchObject({
      session_id: "ses_1",
      inbox: "/workspace/inbox/run_1",
    });
    expect(await valueOf(host, "import_attachments")).toEqual([]);
    expect(await valueOf(host, "save_tool_result", { tool_call_id: "c1", text: "long" })).toMatch(/c1$/);
  });

  it("passes refusals of the host on", async () => {
    const refused = valueOf(new FakeRunHost(), "invoke_llm", ASK);
    await expect(refused).rejects.toMatchObject({ code: "host.unauthorized" });
  });

  it.each(HOST_ACTIONS.filter((name) => name !== "box_acquire"))(
    "refuses a payload that does not fit %s",
    async (action) => {
      const refused = valueOf(new FakeRunHost(), action, { unknown: true });
      await expect(refused).rejects.toMatchObject({ code: "host.invalid_argument" });
    },
  );

  it("refuses names that are no action, those of every object among them", async () => {
    for (const action of ["no_such", "constructor", "__proto__"])
      await expect(valueOf(new FakeRunHost(), action)).rejects.toMatchObject({ code: "host.not_found" });
  });
});
