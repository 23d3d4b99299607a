import { describe, expect, it } from "vitest";
import { FakeRunHost } from "../../../../fakes/fake-run-host.js";
import { performAction } from "../../../../support/perform-action.js";

const PROMPT = [{ role: "system", content: "Be kind." }] as const;

describe("the actions about the conversation", () => {
  it("read the prompt and the history", async () => {
    const message = PROMPT[0];
    const item = { sequence: 1, run_id: "run_0", event_id: null, message, partial: false, created_at: 1 };
    const host = new FakeRunHost({ prompt: PROMPT, history: [item] });
    expect(await performAction(host, "get_prompt")).toEqual(PROMPT);
    const page = await performAction(host, "history_page", { limit: 5, content_chars: 100 });
    expect(page).toMatchObject({ items: [item], has_more: false });
  });

  it("give an image of the message, or null", async () => {
    const image = { mimeType: "image/png", base64: "AA==", sizeBytes: 1 };
    const host = new FakeRunHost({ images: { "attachment-0": image } });
    const ask = { reference: "attachment-0", max_bytes: 10 };
    expect(await performAction(host, "read_image", ask)).toEqual({
      mime_type: "image/png",
      base64: "AA==",
      bytes: 1,
    });
    expect(await performAction(host, "read_image", { ...ask, reference: "other" })).toBeNull();
  });
});
