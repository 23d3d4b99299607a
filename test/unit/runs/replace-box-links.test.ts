import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { replaceBoxLinks } from "../../../src/runs/replace-box-links.js";
import { proves } from "../../support/proves.js";
import { aFile } from "../../support/records.js";

const CHART = aFile();
const URL = "/v1/files/file_1/content";

describe("replaceBoxLinks", () => {
  it.each([
    ["[Chart](/workspace/outbox/run_1/chart.png)", `[Chart](${URL})`],
    ["![Chart](sandbox:/workspace/outbox/run_1/chart.png)", `![Chart](${URL})`],
    ["See sandbox:/workspace/outbox/run_1/chart.png.", `See ${URL}.`],
    ["[Old](/workspace/outbox/run_1/old.png)", "Old (not delivered)"],
    ["![](sandbox:/workspace/outbox/run_1/old.png)", "old.png (not delivered)"],
    ["See sandbox:/workspace/old.png!", "See old.png (not delivered)!"],
  ])("turns %s into the link of the delivered file, or says that it was not delivered", (text, shown) => {
    proves("OUT-13");
    expect(replaceBoxLinks(text, [CHART])).toBe(shown);
  });

  it.each([
    "No links here.",
    "[A](https://example.com/workspace/outbox/run_1/chart.png)",
    "The file is at /workspace/outbox/run_1/chart.png and in `/workspace/notes.txt`.",
    "[A](/workspaces/chart.png) [B](workspace/chart.png) [C](/v1/files/file_9/content)",
    "[unclosed](/workspace/outbox/run_1/chart.png",
    "[over two\nlines](/workspace/a.png) and [two](/workspace/a\n.png)",
  ])("leaves the rest alone: %s", (text) => {
    expect(replaceBoxLinks(text, [CHART])).toBe(text);
  });

  it.each([
    ["in angle brackets", "[a](</workspace/outbox/run_1/my (1) file.txt>)"],
    ["as it is", "[a](/workspace/outbox/run_1/my (1) file.txt)"],
    ["encoded", "[a](/workspace/outbox/run_1/my%20%281%29%20file.txt)"],
    ["with a title", '[a](/workspace/outbox/run_1/my%20(1)%20file.txt "My file")'],
    ["after white space", "[a]( /workspace/outbox/run_1/my (1) file.txt )"],
    ["not in normal form", "[a](/workspace/outbox/./run_1//my (1) file.txt)"],
  ])("reads a target with spaces and brackets %s", (_how, text) => {
    const file = aFile({ name: "my (1) file.txt", sourcePath: "/workspace/outbox/run_1/my (1) file.txt" });
    expect(replaceBoxLinks(text, [file])).toBe(`[a](${URL})`);
  });

  it("finds a name with a percent sign in it", () => {
    const file = aFile({ name: "100%.txt", sourcePath: "/workspace/100%.txt" });
    expect(replaceBoxLinks("[a](/workspace/100%.txt)", [file])).toBe(`[a](${URL})`);
  });

  it("replaces every link of a text and keeps what is between them", () => {
    const text = "A [x](/workspace/outbox/run_1/chart.png), B ![y](/workspace/no.png), C sandbox:/z.bin; D";
    expect(replaceBoxLinks(text, [CHART])).toBe(
      `A [x](${URL}), B y (not delivered), C z.bin (not delivered); D`,
    );
  });

  it("replaces both targets of a picture that is a link", () => {
    const path = "sandbox:/workspace/outbox/run_1/chart.png";
    expect(replaceBoxLinks(`[![alt](${path})](${path})`, [CHART])).toBe(`[![alt](${URL})](${URL})`);
  });

  it.each(["sandbox:/mnt/data/chart.png", "/workspace/chart.png", "/workspace/outbox/chart.png"])(
    "goes by the name where the path names no directory of the run: %s",
    (target) => {
      expect(replaceBoxLinks(`[a](${target})`, [CHART])).toBe(`[a](${URL})`);
    },
  );

  it.each(["/workspace/other/chart.png", "/workspace/outbox/run_0/chart.png"])(
    "does not take one file for another of the same name: %s",
    (target) => {
      expect(replaceBoxLinks(`[a](${target})`, [CHART])).toBe("a (not delivered)");
    },
  );

  it("goes by the name in the box as well, where the delivery got another one", () => {
    const file = aFile({ id: "file_2", name: "chart (2).png", sourcePath: "/workspace/tmp/chart.png" });
    expect(replaceBoxLinks("[a](sandbox:/chart.png)", [file])).toBe("[a](/v1/files/file_2/content)");
  });

  it("takes the later of two exports of one path", () => {
    const again = aFile({ id: "file_2", name: "chart (2).png" });
    expect(replaceBoxLinks("[a](/workspace/outbox/run_1/chart.png)", [CHART, again])).toBe(
      "[a](/v1/files/file_2/content)",
    );
  });

  it("leaves no address of the box in any text made of links", () => {
    const target = fc.constantFrom(
      "sandbox:/a.png",
      "sandbox:/workspace/outbox/run_1/chart.png",
      "/workspace/x y.txt",
      "</workspace/a>",
    );
    const link = target.map((path) => `[label](${path})`);
    const words = fc.constantFrom(" and ", "\n", "(", ")", "**", "text");
    fc.assert(
      fc.property(fc.array(fc.oneof(link, words)), (parts) => {
        expect(replaceBoxLinks(parts.join(""), [CHART])).not.toMatch(/sandbox:\/|\(<?\/workspace\//);
      }),
    );
  });

  it.each([
    "[".repeat(1_000_000),
    "[](sandbox:/".repeat(80_000),
    "[x](/workspace/(".repeat(60_000),
    `sandbox:/${"!".repeat(1_000_000)}x`,
    `[x](/workspace/a${" ".repeat(4000)}`.repeat(200),
    `[x](/workspace/a${" ".repeat(4000)}b)`.repeat(200),
    `[x](/workspace/a${' "'.repeat(2000)})`.repeat(200),
  ])("takes time in proportion to the text", (text) => {
    expect(replaceBoxLinks(text, [CHART])).not.toContain("/v1/files/");
  });
});
