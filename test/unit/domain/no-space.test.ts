import { describe, expect, it } from "vitest";
import { describeNoSpace, type NoSpaceFacts } from "../../../src/domain/no-space.js";

const MIB = 1024 * 1024;
const FACTS: NoSpaceFacts = {
  sizeBytes: 3 * MIB,
  use: { sizeBytes: 99 * MIB, entries: 5 },
  isHostFull: false,
  limits: { memoryMb: 512, pids: 128, quotaMib: 100, entries: 3000 },
};

describe("describeNoSpace", () => {
  it.each<[string, Partial<NoSpaceFacts>, string]>([
    [
      "quota and use of a full workspace",
      {},
      "The workspace quota is 100 MiB and 99 MiB are in use, which leaves no space for 3 MiB. Remove files that are not needed.",
    ],
    [
      "the size of a small file in bytes",
      { sizeBytes: 17 },
      "The workspace quota is 100 MiB and 99 MiB are in use, which leaves no space for 17 bytes. Remove files that are not needed.",
    ],
    [
      "the limit of one file",
      { sizeBytes: 101 * MIB },
      "One file may have 100 MiB at most, and this one would have 101 MiB. Write less, or split it.",
    ],
    [
      "how many files there are and may be",
      { use: { sizeBytes: MIB, entries: 3000 } },
      "The workspace holds 3000 files and directories, and the limit is 3000. Remove files that are not needed.",
    ],
    [
      "the quota where the use is not known",
      { use: null },
      "The workspace, whose quota is 100 MiB, has no space left for 3 MiB. Remove files that are not needed.",
    ],
    [
      "that a workspace without a quota is full",
      { limits: { ...FACTS.limits, quotaMib: 0 } },
      "The workspace has no space left for 3 MiB. Remove files that are not needed.",
    ],
    [
      "that it is the machine's disk, not the quota",
      { use: { sizeBytes: MIB, entries: 5 } },
      "The disk of the machine has no space left for 3 MiB, although the workspace holds only 1 MiB of its quota of 100 MiB. Try again when the operator has freed space.",
    ],
    [
      "that the machine is down to its reserve",
      { isHostFull: true },
      "The disk of the machine is down to its reserve, so no box may grow, although the workspace holds only 99 MiB of its quota of 100 MiB. Try again when the operator has freed space.",
    ],
    [
      "the reserve where nothing else is known",
      { isHostFull: true, use: null },
      "The disk of the machine is down to its reserve, so no box may grow. Try again when the operator has freed space.",
    ],
    [
      "the reserve for a workspace without a quota",
      { isHostFull: true, limits: { memoryMb: 512, pids: 128, quotaMib: 0 } },
      "The disk of the machine is down to its reserve, so no box may grow, although the workspace holds only 99 MiB. Try again when the operator has freed space.",
    ],
  ])("says %s", (_what, change, says) => {
    expect(describeNoSpace({ ...FACTS, ...change })).toBe(says);
  });
});
