import { describe, expect, it } from "vitest";
import { detectBinary } from "../../../../src/tools/native/file-signature.js";

const latin1 = (text: string): Uint8Array => Buffer.from(text, "latin1");

describe("detectBinary", () => {
  it.each(["", "hello\n", "ID3 is a tag format", "GIF89a begins a GIF", "BZh", "na\xefve", "\x1b[31mred"])(
    "takes %j for text",
    (text) => {
      expect(detectBinary(latin1(text), "a.txt")).toBeNull();
    },
  );

  it.each([
    ["%PDF-1.4\n", "a.pdf", "application/pdf"],
    ["\x89PNG\r\n\x1a\n", "a.png", "image/png"],
    ["\xff\xd8\xff\xe0", "a.jpg", "image/jpeg"],
    ["GIF89a\x01\x00", "a.gif", "image/gif"],
    ["RIFF\x24\x00\x00\x00WEBPVP8 ", "a", "image/webp"],
    ["RIFF\x24\x00\x00\x00WAVEfmt ", "a", "audio/wav"],
    ["PK\x03\x04\x14\x00", "a.zip", "application/zip"],
    ["PK\x03\x04\x14\x00", "Report.DOCX", "a Word document (docx)"],
    ["\x1f\x8b\x08", "a.tar.gz", "application/gzip"],
    ["SQLite format 3\0", "a.db", "application/vnd.sqlite3"],
    ["\x7fELF\x02", "a.out", "a compiled program"],
    ["ID3\x04\x00", "a.mp3", "audio/mpeg"],
    ["\xff\xfeh\x00", "a.txt", "UTF-16 text"],
    ["ab\0cd", "a.bin", "binary data"],
  ])("knows %j in %s", (start, path, type) => {
    expect(detectBinary(latin1(start), path)?.type).toBe(type);
  });
});
