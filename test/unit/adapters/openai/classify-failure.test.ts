import { describe, expect, it } from "vitest";
import { classifyRefusal, isOverflow } from "../../../../src/adapters/openai/classify-failure.js";
import { proves } from "../../../support/proves.js";

function refusal(message: string, fields: { status?: number | null; code?: string | null } = {}) {
  return { status: 400, code: null, message, hasBody: message !== "", ...fields };
}

describe("overflow of the context", () => {
  it("is told from rate limits, whatever words those use", () => {
    proves("BUDGET-13");
    expect(isOverflow(refusal("rate limit exceeded: too many tokens per minute"))).toBe(false);
    expect(isOverflow(refusal("Throttling error: Too many tokens"))).toBe(false);
    expect(isOverflow(refusal("Refused.", { code: "context_length_exceeded" }))).toBe(true);
    expect(
      isOverflow({ status: 400, code: null, message: "400 status code (no body)", hasBody: false }),
    ).toBe(true);
  });

  it.each([
    "This model's maximum context length is 8192 tokens. However, you requested 9000.",
    "prompt is too long: 210000 tokens > 200000 maximum",
    "Request too large for this model.",
    "The input exceeds the context window of this model.",
    "Your context length was exceeded.",
    "the request exceeds the available context size",
    "Please reduce the length of the messages.",
    "too many tokens in the request",
    "input token limit exceeded",
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
  ])("is recognised by its wording: %s", (message) => {
    expect(isOverflow(refusal(message))).toBe(true);
    expect(isOverflow(refusal(message.toUpperCase(), { status: 500 }))).toBe(true);
  });

  it.each(["Invalid parameter.", "Unknown field: context.", "The maximum length of a tool name is 64.", ""])(
    "is not seen in other refusals: %o",
    (message) => {
      expect(isOverflow({ ...refusal(message), status: 422 })).toBe(false);
    },
  );

  it("is never read into a refusal of the key or of the pace", () => {
    expect(classifyRefusal(refusal("too many tokens", { status: 429 }))).toBe("model.rate_limited");
    expect(classifyRefusal(refusal("too many tokens", { status: 401 }))).toBe("model.credentials_refused");
    expect(classifyRefusal(refusal("Throttling: too many tokens"))).toBe("model.rate_limited");
  });

  it("is recognised inside a stream", () => {
    const inStream = { status: null, hasBody: true };
    expect(classifyRefusal({ ...inStream, code: "context_length_exceeded", message: "x" })).toBe(
      "model.context_overflow",
    );
    expect(classifyRefusal({ ...inStream, code: null, message: "overheated" })).toBe("model.stream_failed");
  });
});
