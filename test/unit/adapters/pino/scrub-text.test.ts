import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { scrubText } from "../../../../src/adapters/pino/scrub-text.js";
import { SecretMask } from "../../../../src/lib/secret-mask.js";

describe("scrubText", () => {
  it("leaves ordinary text alone", () => {
    const text = "The engine did not answer within 30 s (報告, naïve, 100 %?).";
    expect(scrubText(text, new SecretMask(["unrelated-secret"]))).toBe(text);
  });

  it("hides every secret it was told of, wherever it stands", () => {
    expect(scrubText("key=sk-123456 and sk-123456", new SecretMask(["sk-123456"]))).toBe(
      "key=[redacted] and [redacted]",
    );
  });

  it("does not take short texts for secrets, which would hide ordinary words", () => {
    expect(scrubText("a main model", new SecretMask(["main", ""]))).toBe("a main model");
  });

  it.each([
    ["Authorization: Bearer abc.DEF-1", "Authorization: Bearer [redacted]"],
    ["basic dXNlcjpwYXNz==", "basic [redacted]"],
    ["GET https://user:pass@host.example/x", "GET https://[redacted]@host.example/x"],
    ["https://host.example/f?sig=abc&exp=1 failed", "https://host.example/f?[redacted] failed"],
    ["/v1/files/file_1/content?signature=abc", "/v1/files/file_1/content?[redacted]"],
  ])("hides credentials in %j", (text, scrubbed) => {
    expect(scrubText(text, new SecretMask([]))).toBe(scrubbed);
  });

  it("shows control characters and direction marks by their numbers", () => {
    expect(scrubText("a\n\u001b[31m\u007f\u009b\u2028\u202eb", new SecretMask([]))).toBe(
      "a\\u000a\\u001b[31m\\u007f\\u009b\\u2028\\u202eb",
    );
  });

  it("cuts what is too long and says so", () => {
    expect(scrubText("x".repeat(1_001), new SecretMask([]))).toBe(`${"x".repeat(1_000)}…`);
    expect(scrubText("x".repeat(1_000), new SecretMask([]))).toHaveLength(1_000);
  });

  it("lets no control character and no secret through, whatever the text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (before, after) => {
        const scrubbed = scrubText(`${before}canary-secret${after}`, new SecretMask(["canary-secret"]));
        expect(scrubbed).not.toContain("canary-secret");
        expect(scrubbed).not.toMatch(/\p{Cc}/u);
      }),
    );
  });
});
