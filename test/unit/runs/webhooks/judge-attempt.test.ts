import { describe, expect, it } from "vitest";
import { BACK_OFF_MS, judgeAttempt } from "../../../../src/runs/webhooks/judge-attempt.js";

const status = (code: number) => ({ kind: "answered", status: code }) as const;
const text = { count: 1, carriesFiles: false };
const files = { count: 1, carriesFiles: true };
const again = { kind: "again", afterMs: BACK_OFF_MS[0] };

describe("judgeAttempt", () => {
  it("takes any 2xx as taken, and 410 as the end", () => {
    expect([200, 204, 410].map((code) => judgeAttempt(status(code), files).kind)).toEqual([
      "taken",
      "taken",
      "given_up",
    ]);
  });

  it("repeats a message without files whatever went wrong", () => {
    for (const code of [302, 401, 404, 408, 415, 429, 500, 503])
      expect(judgeAttempt(status(code), text)).toEqual(again);
    expect(judgeAttempt({ kind: "unknown", reason: "x" }, text)).toEqual(again);
  });

  it("never repeats a message with files whose outcome is not known", () => {
    for (const code of [408, 500, 503]) expect(judgeAttempt(status(code), files).kind).toBe("unknown");
    expect(judgeAttempt({ kind: "unknown", reason: "x" }, files).kind).toBe("unknown");
  });

  it("repeats one with files that surely was not taken, and ends one whose content is refused", () => {
    expect(judgeAttempt({ kind: "not_sent", reason: "ECONNREFUSED" }, files)).toEqual(again);
    expect(judgeAttempt(status(429), files)).toEqual(again);
    expect(judgeAttempt(status(413), files).kind).toBe("refused");
  });

  it("waits longer each time and gives up after the last pause", () => {
    const pauses = BACK_OFF_MS.map((_, index) => judgeAttempt(status(500), { ...text, count: index + 1 }));
    expect(pauses).toEqual(BACK_OFF_MS.map((afterMs) => ({ kind: "again", afterMs })));
    expect(judgeAttempt(status(500), { ...text, count: BACK_OFF_MS.length + 1 }).kind).toBe("given_up");
  });
});
