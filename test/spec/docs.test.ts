import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { codesWithoutProse, refreshErrorsPage } from "../../scripts/lib/errors-page.js";
import { generatedPages } from "../../scripts/lib/generated-pages.js";
import { settingsPage } from "../../scripts/lib/settings-page.js";
import { ERROR_CODES } from "../../src/domain/errors.js";

describe("the pages of docs/", () => {
  it.each([...generatedPages()])("holds %s as the code has it", (path, text) => {
    expect(readFileSync(path, "utf8")).toBe(text);
  });

  it("says of every error code when it comes", () => {
    expect(codesWithoutProse(readFileSync("docs/errors.md", "utf8"))).toEqual([]);
  });

  it("gives every setting a meaning, and what is allowed", () => {
    const rows = settingsPage()
      .split("\n")
      .filter((line) => line.startsWith("| `") && !line.includes("BERTH_") && !line.includes("OPENAI_"));
    expect(rows.filter((row) => /\|\s*\|/.test(row) || row.includes("any value"))).toEqual([]);
    expect(rows.length).toBeGreaterThan(60);
  });
});

describe("refreshErrorsPage", () => {
  it("drops unknown codes, adds missing ones, and corrects status and retry", () => {
    const page = [
      "# Error codes",
      "",
      "| Code | HTTP | Again | When | What to do |",
      "|---|---|---|---|---|",
      "| `box.capacity` | 500 | no | Every box is busy | Wait |",
      "| `no.such` | 500 | no | Never | – |",
    ].join("\n");
    const fresh = refreshErrorsPage(page);
    expect(fresh).toContain("| `box.capacity` | 429 | yes | Every box is busy | Wait |");
    expect(fresh).not.toContain("no.such");
    expect(codesWithoutProse(fresh)).toHaveLength(Object.keys(ERROR_CODES).length - 1);
  });
});
