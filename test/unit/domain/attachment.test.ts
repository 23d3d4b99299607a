import { describe, expect, it } from "vitest";
import {
  attachmentOutcomeSchema,
  attachmentSchema,
  attachmentSourceSchema,
} from "../../../src/domain/attachment.js";

describe("attachmentSchema", () => {
  it("has no place for inline bytes", () => {
    const attachment = {
      reference: "attachment-0",
      type: "image",
      source: "base64",
      url: null,
      id: null,
      name: "a.png",
      mime_type: "image/png",
      size: 3,
      path: null,
    };
    expect(attachmentSchema.parse({ ...attachment, content: "AAAA" })).toEqual(attachment);
  });
});

describe("attachmentOutcomeSchema", () => {
  const outcome = {
    index: 0,
    name: "a.csv",
    path: null,
    bytes: null,
    mime_type: null,
    state: "refused",
    reason: "Too large.",
  };

  it("takes an outcome of the run object", () => {
    expect(attachmentOutcomeSchema.parse(outcome)).toEqual(outcome);
  });

  it.each([{ index: -1 }, { state: "lost" }, { bytes: -1 }, { reason: undefined }])("refuses %j", (fault) => {
    expect(attachmentOutcomeSchema.safeParse({ ...outcome, ...fault }).success).toBe(false);
  });
});

describe("attachmentSourceSchema", () => {
  it.each([
    { kind: "blob", sha256: "a".repeat(64), sizeBytes: 3 },
    { kind: "url", url: "https://host.example/a.csv" },
    { kind: "refused", reason: "Too large.", sizeBytes: null },
  ])("takes %j", (source) => {
    expect(attachmentSourceSchema.parse(source)).toEqual(source);
  });

  it.each([
    { kind: "path", path: "/etc/passwd" },
    { kind: "blob", sha256: "a", sizeBytes: -1 },
    { kind: "blob" },
  ])("refuses %j", (source) => {
    expect(attachmentSourceSchema.safeParse(source).success).toBe(false);
  });
});
