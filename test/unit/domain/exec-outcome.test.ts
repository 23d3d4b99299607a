import { describe, expect, it } from "vitest";
import {
  counterNotes,
  describeExit,
  describeFullDisk,
  type ExitFacts,
  roomNote,
  saidFileSizeNotes,
  statusOfStop,
} from "../../../src/domain/exec-outcome.js";

const COUNTERS = { oomKills: 2, pidsRefused: 0 };

function facts(exit: Partial<ExitFacts["exit"]>, change: Partial<ExitFacts> = {}): ExitFacts {
  return {
    exit: { code: 0, signal: null, by: "exit", leftovers: 0, disk: null, ...COUNTERS, ...exit },
    countersAtStart: COUNTERS,
    stopReason: null,
    timeoutMs: 30_000,
    durationMs: 12,
    limits: { memoryMb: 512, pids: 128, quotaMib: 1024 },
    ...change,
  };
}

describe("describeExit", () => {
  it("completes with any exit code", () => {
    expect(describeExit(facts({ code: 3 }))).toEqual({
      status: "completed",
      exitCode: 3,
      durationMs: 12,
      leftovers: 0,
      notes: [],
    });
  });

  it("names the signal that ended a command, and has no exit code then", () => {
    const exit = describeExit(facts({ code: null, signal: 11 }));
    expect(exit).toMatchObject({ status: "killed", exitCode: null });
    expect(exit.notes).toEqual(["The command was ended by signal 11 (SIGSEGV)."]);
    expect(describeExit(facts({ code: null, signal: 40 })).notes).toEqual([
      "The command was ended by signal 40 (unnamed).",
    ]);
  });

  it.each([
    ["timed_out", "timed_out"],
    ["cancelled", "cancelled"],
    ["abandoned", "cancelled"],
    [null, "killed"],
  ] as const)("tells a stop for the reason %s as %s", (stopReason, status) => {
    const exit = describeExit(facts({ code: null, signal: 9, by: "kill" }, { stopReason }));
    expect(exit).toMatchObject({ status, exitCode: null });
  });

  it("says that the command was stopped because its supervisor was gone", () => {
    const exit = describeExit(facts({ code: null, by: "loss" }));
    expect(exit).toMatchObject({ status: "killed", exitCode: null });
    expect(exit.notes.join(" ")).toContain("supervisor was ended");
    expect(describeExit(facts({ code: null, by: "loss" }, { stopReason: "timed_out" })).status).toBe(
      "timed_out",
    );
  });

  it("says which time limit was reached, whoever noticed first", () => {
    const note = "The command reached its time limit of 30 s and was stopped with all its processes.";
    expect(describeExit(facts({ code: null, signal: 9, by: "timeout" })).notes).toEqual([note]);
    expect(describeExit(facts({ code: 0, by: "kill" }, { stopReason: "timed_out" })).notes).toEqual([note]);
  });

  it("counts a command that ended by itself before the stop reached it as completed", () => {
    expect(describeExit(facts({ code: 0 }, { stopReason: "cancelled" }))).toMatchObject({
      status: "completed",
    });
  });

  it("says that limits of the box struck, with their values", () => {
    const { notes } = describeExit(facts({ code: 137, oomKills: 3, pidsRefused: 4 }));
    expect(notes).toEqual([
      "The memory limit of 512 MiB was reached: 1 process was killed.",
      "The limit of 128 processes was reached: new ones were refused.",
    ]);
  });

  it.each([
    [
      { sizeBytes: 1_200_000_000, entries: 10 },
      "The workspace quota of 1024 MiB was reached: 1145 MiB are in use. The command was stopped with all its processes; the files stayed.",
    ],
    [
      { sizeBytes: 4096, entries: 100_001 },
      "The limit of 100000 files in the workspace was reached: there are at least 100001. The command was stopped with all its processes; the files stayed.",
    ],
  ] as const)("says that the disk quota stopped a command, with limit and use: %j", (disk, note) => {
    const exit = describeExit(facts({ code: null, signal: 9, by: "quota", disk }));
    expect(exit).toMatchObject({ status: "killed", exitCode: null, notes: [note] });
  });

  it("says that a workspace is full when a command ends, with limit and use", () => {
    const disk = { sizeBytes: 1024 * 1024 * 1024, entries: 10 };
    expect(describeExit(facts({ code: 1, disk }))).toMatchObject({
      status: "completed",
      exitCode: 1,
      notes: [
        "The workspace quota of 1024 MiB was reached: 1024 MiB are in use. Writing fails until files are removed.",
      ],
    });
    expect(describeExit(facts({ code: null, signal: 9, by: "timeout", disk })).notes).toContain(
      "The workspace quota of 1024 MiB was reached: 1024 MiB are in use.",
    );
  });

  it("says that it is the machine's disk that is full", () => {
    const disk = { sizeBytes: 5 * 1024 * 1024, entries: 3, isHostFull: true };
    expect(describeExit(facts({ code: null, signal: 9, by: "quota", disk })).notes).toEqual([
      "The disk of the machine is nearly full, so no box may grow: 5 MiB of 1024 MiB are in use in this workspace. The command was stopped with all its processes; the files stayed.",
    ]);
  });

  it("says it of a workspace without a quota, too", () => {
    const use = { sizeBytes: 5 * 1024 * 1024, entries: 3, isHostFull: true };
    expect(describeFullDisk(use, { memoryMb: 512, pids: 128, quotaMib: 0 })).toBe(
      "The disk of the machine is nearly full, so no box may grow: 5 MiB are in use in this workspace.",
    );
  });

  it("says what the settings allow of files, where they say anything", () => {
    const limits = { memoryMb: 512, pids: 128, quotaMib: 1024, entries: 500 };
    expect(describeFullDisk({ sizeBytes: 1, entries: 500 }, limits)).toBe(
      "The limit of 500 files in the workspace was reached: there are at least 500.",
    );
  });

  it.each([
    [{ code: 153 }, 1024],
    [{ code: null, signal: 25 }, 1024],
    [{ code: 153 }, 100],
    [{ code: 153 }, 0],
  ])("says that a file grew too large, with the limit: %j of %i MiB", (exit, quotaMib) => {
    const limits = { memoryMb: 512, pids: 128, quotaMib };
    expect(describeExit(facts(exit, { limits })).notes).toContain(
      `The limit of ${quotaMib === 0 ? 1024 : quotaMib} MiB for one file was reached.`,
    );
  });

  it.each([
    [1, "1 process that the command started still runs and is stopped when the run ends."],
    [2, "2 processes that the command started still run and are stopped when the run ends."],
  ])("says what was left behind: %i", (leftovers, note) => {
    expect(describeExit(facts({ leftovers }))).toMatchObject({ leftovers, notes: [note] });
  });
});

describe("counterNotes", () => {
  it("says nothing where the kernel does not tell, or nothing was known before", () => {
    const limits = { memoryMb: 1, pids: 1, quotaMib: 1 };
    expect(counterNotes(null, { oomKills: 9, pidsRefused: 9 }, limits)).toEqual([]);
    expect(
      counterNotes({ oomKills: -1, pidsRefused: -1 }, { oomKills: -1, pidsRefused: -1 }, limits),
    ).toEqual([]);
  });
});

describe("roomNote", () => {
  it("names the limit", () => {
    expect(roomNote({ memoryMb: 1, pids: 7, quotaMib: 1 })).toContain("full of processes (limit 7)");
  });
});

describe("statusOfStop", () => {
  it("blames the box when nobody stopped the command", () => {
    expect(statusOfStop(null)).toBe("killed");
  });
});

describe("saidFileSizeNotes", () => {
  const limit = "A file can have 100 MiB at most: what is said of one that is too large is about that.";

  it.each([
    "bash: line 1:    22 File size limit exceeded truncate -s 3G f",
    "OSError: [Errno 27] File too large",
  ])("gives the limit of one file to a command that went on after it was met: %s", (stderr) => {
    expect(saidFileSizeNotes({ notes: [] }, stderr, 100)).toEqual([limit]);
  });

  it("says nothing where nothing was said, and nothing twice", () => {
    expect(saidFileSizeNotes({ notes: [] }, "The profile is too large.", 100)).toEqual([]);
    const { notes } = describeExit(facts({ code: 153 }));
    expect(saidFileSizeNotes({ notes }, "File size limit exceeded", 1024)).toEqual([]);
  });
});
