import { describe, expect, it } from "vitest";
import { FakeRunHost } from "../../../../fakes/fake-run-host.js";
import { performAction } from "../../../../support/perform-action.js";

describe("the actions about resources", () => {
  it("ask knowledge bases", async () => {
    const chunk = { content: "Twice.", score: 0.9, metadata: {} };
    const host = new FakeRunHost({ knowledge: { manual: [chunk, chunk] } });
    const payload = { kb_id: "manual", query: "How?", top_k: 1, filters: { lang: "en" } };
    expect(await performAction(host, "retrieve_knowledge", payload)).toEqual([chunk]);
    expect(host.asked).toEqual([{ kbId: "manual", text: "How?", topK: 1, filters: { lang: "en" } }]);
  });

  it("order documents", async () => {
    const host = new FakeRunHost({ rerankers: ["order"] });
    const payload = { model_id: "order", query: "q", documents: ["a", "b"], top_n: 1 };
    expect(await performAction(host, "rerank", payload)).toEqual([{ index: 0, score: 1 }]);
    expect(host.asked).toEqual([{ modelId: "order", query: "q", documents: ["a", "b"], topN: 1 }]);
  });

  it("capture files", async () => {
    const host = new FakeRunHost({ mayCapture: true });
    const payload = { url: "https://files.example/a", kind: "image", name: "a.png" };
    expect(await performAction(host, "capture_file", payload)).toEqual({ file_id: "file_1" });
    expect(host.asked).toEqual([payload]);
  });

  it.each([
    ["retrieve_knowledge", { kb_id: "manual", query: "How?" }],
    ["rerank", { model_id: "order", query: "q", documents: [] }],
    ["capture_file", { url: "https://files.example/a" }],
  ])("pass the host's refusal of %s on", async (action, payload) => {
    const refused = performAction(new FakeRunHost(), action, payload);
    await expect(refused).rejects.toMatchObject({ code: "host.unauthorized" });
  });
});
