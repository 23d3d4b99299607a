import { describe, expect, it } from "vitest";
import { sanitiseText } from "../../../src/lib/sanitise-text.js";

describe("sanitiseText", () => {
  it.each([
    ["open '/srv/data/table.json' failed", "open '[path]' failed"],
    ["see /workspace/inbox/run_1/a.csv", "see /workspace/inbox/run_1/a.csv"],
    ["GET https://example.org/a/b answered 500", "GET https://example.org/a/b answered 500"],
    ["and/or, 3/4", "and/or, 3/4"],
    ["broken\n    at run (/srv/berth/dist/main.js:1:2)\n    at main", "broken"],
    ["two\nlines", "two lines"],
  ])("%j becomes %j", (text, shown) => {
    expect(sanitiseText(text)).toBe(shown);
  });

  it("cuts a flood, at whole characters", () => {
    expect(sanitiseText("🙂".repeat(600))).toBe(`${"🙂".repeat(500)}...`);
  });
});
