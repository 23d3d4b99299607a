import { describe, expect, it } from "vitest";
import type { AttachmentOutcome } from "../../../src/domain/attachment.js";
import { userEntry } from "../../../src/runs/user-entry.js";
import { aRun } from "../../support/records.js";

const session = { id: "ses_1", key: "person_42" } as const;

function anOutcome(fields: Partial<AttachmentOutcome> = {}): AttachmentOutcome {
  return {
    index: 0,
    name: "table.csv",
    path: null,
    bytes: 99,
    mime_type: "text/csv",
    state: "pending",
    reason: null,
    ...fields,
  };
}

describe("userEntry", () => {
  it("is the user's text where nothing is attached", () => {
    expect(userEntry(aRun())).toEqual({ role: "user", content: "Plot the table." });
  });

  it("joins the text items where there is no text of its own", () => {
    const contents = [
      { type: "text" as const, text: "Plot" },
      { type: "attachment" as const, reference: "attachment-0" },
      { type: "text" as const, text: "this." },
    ];
    expect(userEntry(aRun({ input: { text: null, contents, attachments: [] } })).content).toBe("Plot this.");
  });

  it("tells of each attachment in a line, with the place where later runs find it", () => {
    const attachments = [anOutcome(), anOutcome({ index: 1, name: "a.png", mime_type: null, bytes: null })];
    expect(userEntry(aRun({ session, attachments })).content).toBe(
      [
        "Plot the table.",
        "[attachment 0: table.csv, text/csv, 99 bytes at /workspace/inbox/run_1/0/]",
        "[attachment 1: a.png at /workspace/inbox/run_1/1/]",
      ].join("\n"),
    );
  });

  it("names the place of an earlier attempt, where the file may still lie", () => {
    const attachments = [anOutcome({ path: "/workspace/inbox/run_0/0/table.csv" })];
    expect(userEntry(aRun({ session, attachments })).content).toContain(
      "99 bytes at /workspace/inbox/run_0/0/table.csv]",
    );
  });

  it("names no place where there is no box", () => {
    const input = { text: "", contents: [], attachments: [] };
    expect(userEntry(aRun({ input, attachments: [anOutcome()] })).content).toBe(
      "[attachment 0: table.csv, text/csv, 99 bytes]",
    );
  });

  it("says why an attachment was refused, and names no place for it", () => {
    const attachments = [anOutcome({ state: "refused", reason: "It is too large." })];
    expect(userEntry(aRun({ session, attachments })).content).toContain(
      "[attachment 0: table.csv, text/csv, 99 bytes; refused: It is too large.]",
    );
    const unexplained = [anOutcome({ state: "refused" })];
    expect(userEntry(aRun({ attachments: unexplained })).content).toContain("; refused: no reason is known]");
  });
});
