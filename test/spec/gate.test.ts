import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { REQUIREMENTS } from "./requirements.js";

const TESTS = join(import.meta.dirname, "..");
const CALL = /(?<!function )\bproves\(([^)]*)\)/g;
const ID = /"([A-Z]+-\d+)"/g;

function testFiles(): readonly string[] {
  return readdirSync(TESTS, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !path.includes(`${join(TESTS, "spec")}/`));
}

/** What stands between the brackets of every claim. */
function claims(): readonly string[] {
  const texts = testFiles().map((path) => readFileSync(path, "utf8"));
  return texts.flatMap((text) => [...text.matchAll(CALL)].map((call) => call[1] ?? ""));
}

function idsIn(list: string): readonly string[] {
  return [...list.matchAll(ID)].map((id) => id[1] ?? "");
}

describe("the requirement gate", () => {
  const proven = new Set(claims().flatMap(idsIn));

  it("lists every case once", () => {
    const ids = REQUIREMENTS.map(({ id }) => id);
    expect(ids).toEqual([...new Set(ids)]);
  });

  it("can read every claim: ids stand in it as they are", () => {
    expect(claims().filter((list) => !/^(?:"[A-Z]+-\d+"(?:, )?)+$/.test(list))).toEqual([]);
  });

  it("knows every case that a test proves", () => {
    const known = new Set(REQUIREMENTS.map(({ id }) => id));
    expect([...proven].filter((id) => !known.has(id))).toEqual([]);
  });

  it("finds a proof, or an issue that owes it, for every case", () => {
    const open = REQUIREMENTS.filter(({ id, issue }) => issue === undefined && !proven.has(id));
    expect(open.map(({ id }) => id)).toEqual([]);
  });

  it("finds no issue that owes a case which is proved already", () => {
    const closed = REQUIREMENTS.filter(({ id, issue }) => issue !== undefined && proven.has(id));
    expect(closed.map(({ id }) => id)).toEqual([]);
  });
});
