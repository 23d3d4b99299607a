import { deflateRawSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { sniffMimeType } from "../../../../src/adapters/file-types/sniff-mime-type.js";

const text = (content: string) => Buffer.from(content);
const PNG = Buffer.from("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489", "hex");
const ZIP = Buffer.concat([Buffer.from("504b0304140000000800", "hex"), deflateRawSync("x".repeat(99))]);

describe("sniffMimeType", () => {
  it.each([
    ["a.png", PNG, "image/png"],
    ["a.txt", PNG, "image/png"],
    ["x.pdf", text("%PDF-1.7\n"), "application/pdf"],
    ["x.png", text("<html><script>1</script>"), "text/plain"],
    ["x.html", text("<html>"), "text/html"],
    ["t.csv", text("a,b\n"), "text/csv"],
    ["t.json", text("{}"), "application/json"],
    ["t.md", text("# t"), "text/markdown"],
    ["main.ts", text("export const a = 1;"), "text/typescript"],
    ["main.py", text("print(1)"), "text/x-python"],
    ["x.svg", text('<svg xmlns="http://www.w3.org/2000/svg"/>'), "image/svg+xml"],
    ["x.svg", text('<?xml version="1.0"?><svg/>'), "image/svg+xml"],
    ["t.parquet", Buffer.from([1, 2, 0, 255]), "application/vnd.apache.parquet"],
    ["t.parquet", Buffer.from("PAR1\0\0\0\0"), "application/vnd.apache.parquet"],
    ["r.docx", ZIP, "application/vnd.openxmlformats-officedocument.wordprocessingml.document"],
    ["r.zip", ZIP, "application/zip"],
    ["r.exe", ZIP, "application/zip"],
    ["latin.csv", Buffer.from([0x61, 0xe9, 0x2c]), "text/csv"],
    ["cut.txt", text("é".repeat(5)).subarray(0, 9), "text/plain"],
    ["Makefile", text("all:\n"), "text/plain"],
    ["blob", Buffer.from([0, 1, 2, 255]), "application/octet-stream"],
    ["empty.csv", Buffer.alloc(0), "text/csv"],
    ["empty", Buffer.alloc(0), "application/octet-stream"],
  ])("takes %s for what its bytes and name say: %#", async (name, head, type) => {
    expect(await sniffMimeType(name, head)).toBe(type);
  });

  it("answers every beginning with some type", async () => {
    for (const head of ["PK\u0003\u0004", "\u0000\u0000\u0000\u001cftyp", "RIFF", "OggS", "II*\u0000"])
      expect(await sniffMimeType("x", Buffer.from(head, "latin1"))).toMatch(/^[a-z]+\/[\w.+-]+$/);
  });
});
