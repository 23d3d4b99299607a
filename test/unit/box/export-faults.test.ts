import { describe, expect, it } from "vitest";
import { describeExportFaults, findKindFault, inspectSelection } from "../../../src/box/export-faults.js";
import { runDirectories } from "../../../src/box/export-paths.js";
import type { FileEntry, PathFault } from "../../../src/domain/box.js";

const run = runDirectories("run_1");
const LIMITS = { maxFileBytes: 10, maxFiles: 3, maxTotalBytes: 25 };
const NONE = { files: 0, bytes: 0 };

const anEntry = (change: Partial<FileEntry> = {}): FileEntry => ({
  path: "/workspace/a",
  kind: "file",
  sizeBytes: 10,
  linkCount: 1,
  mode: 0o644,
  modifiedMs: 0,
  version: "v",
  readable: true,
  ...change,
});
const found = (change: Partial<FileEntry> = {}) => ({
  path: "/workspace/a",
  stat: { path: "/workspace/a", entry: anEntry(change) },
  exportedAs: null,
});
const absent = (fault: PathFault, exportedAs: `file_${string}` | null = null) => ({
  path: "/workspace/a",
  stat: { path: "/workspace/a", fault },
  exportedAs,
});

const faultsOf = (
  candidates: Parameters<typeof inspectSelection>[0],
  before: { readonly files: number; readonly bytes: number },
) => inspectSelection(candidates, before, LIMITS).faults;

describe("inspectSelection", () => {
  it.each([
    [found(), null],
    [found({ sizeBytes: 0 }), null],
    [found({ sizeBytes: 11 }), "too_large"],
    [found({ kind: "directory" }), "directory"],
    [found({ linkCount: 2 }), "hard_link"],
    [absent("not_found"), "not_found"],
    [absent("not_found", "file_1"), "already_exported"],
    [absent("not_directory", "file_1"), "already_exported"],
    [absent("unreadable", "file_1"), "unreadable"],
    [absent("symlink_component"), "symlink_component"],
    [{ ...found(), stat: undefined }, "not_found"],
  ])("answers a candidate: %#", (candidate, reason) => {
    expect(inspectSelection([candidate], NONE, LIMITS).faults[0]?.reason ?? null).toBe(reason);
  });

  it("counts number and bytes of the run only when each file is fine", () => {
    const three = [found(), found(), found()];
    expect(faultsOf(three, NONE)).toMatchObject([{ reason: "total_too_large", bytes: 30 }]);
    expect(faultsOf(three, { files: 1, bytes: 0 })).toMatchObject([{ reason: "too_many" }]);
    expect(faultsOf([...three, absent("escapes")], NONE)).toMatchObject([{ reason: "escapes" }]);
    expect(inspectSelection([found()], { files: 2, bytes: 15 }, LIMITS)).toEqual({
      targets: [{ path: "/workspace/a", entry: anEntry() }],
      faults: [],
    });
  });
});

describe("findKindFault", () => {
  it("takes readable regular files with one link", () => {
    expect(findKindFault(anEntry())).toBeNull();
    expect(findKindFault(anEntry({ kind: "other" }))).toBe("not_regular");
    expect(findKindFault(anEntry({ kind: "link" }))).toBe("link");
    expect(findKindFault(anEntry({ readable: false }))).toBe("unreadable");
  });
});

describe("describeExportFaults", () => {
  it("names path, reason and remedy, one line each", () => {
    const text = describeExportFaults(
      [
        { reason: "relative", given: "a\nb.txt" },
        { reason: "directory_itself", given: "/workspace" },
        { reason: "other_run", given: "/workspace/outbox/run_2/a" },
        { reason: "skills", given: "/workspace/.skills/a" },
        { reason: "repeated", given: "/workspace/a" },
        { reason: "escapes", given: "/etc/passwd" },
        { reason: "not_text", given: { a: 1 } },
        { reason: "engine", given: "/workspace/a" },
      ],
      run,
    );
    expect(text.split("\n").slice(1)).toEqual([
      '- "a\\u{a}b.txt": the path must be absolute. Use "/workspace/outbox/run_1/a\\u{a}b.txt".',
      '- "/workspace": this is a directory of the workspace itself. Name the files in it, e.g. "/workspace/outbox/run_1/<file>".',
      '- "/workspace/outbox/run_2/a": it does not belong to this run. Copy it to "/workspace/outbox/run_1" first.',
      `- "/workspace/.skills/a": files of skills cannot be exported. Copy what you need to this run's outbox.`,
      '- "/workspace/a": the same file is in the list twice.',
      '- "/etc/passwd": the path escapes /workspace. Only files below /workspace can be exported; copy the file there.',
      "- an entry: every entry of the list must be a text.",
      '- "/workspace/a": the box did not answer as expected. Try again.',
    ]);
  });
});
