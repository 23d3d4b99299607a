import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { codesWithoutProse, refreshErrorsPage } from "../../scripts/lib/errors-page.js";
import { generatedPages } from "../../scripts/lib/generated-pages.js";
import { settingsPage } from "../../scripts/lib/settings-page.js";
import { findRunnerFaults } from "../../src/compose.js";
import { loadConfig } from "../../src/config/load-config.js";
import { ERROR_CODES } from "../../src/domain/errors.js";
import { LOCAL_AGENT_MANIFEST } from "../../src/runners/local-agent/manifest.js";
import { HOST_ACTIONS } from "../../src/runs/host/host-actions.js";

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

describe("docs/local-agent.md", () => {
  const page = readFileSync("docs/local-agent.md", "utf8");

  it("names every setting of the runner's form", () => {
    const names = LOCAL_AGENT_MANIFEST.spec.config.map(({ name }) => name);
    // A switch of the form only: it shows or hides other fields.
    const settings = names.filter((name) => name !== "advanced-settings");
    expect(settings.filter((name) => !page.includes(`| \`${name}\` |`))).toEqual([]);
  });

  it("shows a configuration without faults", () => {
    const directory = mkdtempSync(join(tmpdir(), "berth-test-"));
    try {
      const file = join(directory, "berth.yaml");
      writeFileSync(file, /```yaml\n([\s\S]*?)```/.exec(page)?.[1] ?? "");
      const loaded = loadConfig({ environment: {}, workingDirectory: directory, file, findRunnerFaults });
      expect(loaded).toMatchObject({ ok: true, config: { models: [{ id: "main" }, { id: "spare" }] } });
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});

describe("docs/guides/runners.md", () => {
  it("names every action of the host", () => {
    const page = readFileSync("docs/guides/runners.md", "utf8");
    expect(HOST_ACTIONS.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  });
});

describe("links", () => {
  const pages = ["README.md", ...readdirSync("docs").map((name) => join("docs", name))].filter((path) =>
    path.endsWith(".md"),
  );

  it.each(pages)("of %s lead to what is there", (path) => {
    const targets = [...readFileSync(path, "utf8").matchAll(/\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)/g)];
    const dead = targets
      .map(([, target = ""]) => target)
      .filter((target) => !existsSync(join(dirname(path), target)));
    expect(dead).toEqual([]);
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
