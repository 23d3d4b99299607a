import { describe, expect, it } from "vitest";
import { readTool as read } from "../../../../src/tools/native/read.js";
import { proves } from "../../../support/proves.js";
import { errorOf, FakeToolBox, resultOf } from "../fake-tool-box.js";

const PATH = "/workspace/a.txt";

function boxWith(content: string | Uint8Array, path = PATH): FakeToolBox {
  const box = new FakeToolBox();
  box.put(path, content);
  return box;
}

/** Bytes like those of a real PDF: letters first, binary streams later. */
function aPdf(sizeBytes: number): Uint8Array {
  const bytes = Buffer.alloc(sizeBytes, "stream data \n");
  bytes.write("%PDF-1.7\n");
  return bytes;
}

describe("read of a text file", () => {
  it("gives the lines asked for and where to go on", async () => {
    proves("TOOL-03");
    const box = boxWith("one\ntwo\nthree\nfour\nfive\n");
    expect(await resultOf(read, box, { path: "a.txt", offset: 2, limit: 2 })).toEqual({
      ok: true,
      path: PATH,
      content: "two\nthree",
      start_line: 2,
      end_line: 3,
      next_offset: 4,
      total_lines: 5,
      size_bytes: 24,
      max_lines: 2,
      max_bytes: 51_200,
      truncated: true,
      truncated_by: "lines",
    });
  });

  it("gives a whole file without asking twice", async () => {
    const box = boxWith("a\r\nb");
    expect(await resultOf(read, box, { path: PATH })).toMatchObject({
      content: "a\r\nb",
      end_line: 2,
      next_offset: null,
      max_lines: 2000,
      truncated: false,
      truncated_by: null,
    });
    expect(box.requests).toEqual(["read 1"]);
  });

  it("gives an empty file", async () => {
    expect(await resultOf(read, boxWith(""), { path: PATH })).toMatchObject({
      content: "",
      total_lines: 0,
      end_line: 0,
    });
  });

  it("cuts at max_bytes, which can only be lowered", async () => {
    const box = boxWith("x".repeat(100).concat("\n").repeat(1000));
    const result = await resultOf(read, box, { path: PATH, max_bytes: 1_000_000 });
    expect(result).toMatchObject({
      max_bytes: 51_200,
      truncated_by: "bytes",
      end_line: 506,
      next_offset: 507,
    });
    expect(await resultOf(read, box, { path: PATH, max_bytes: 250 })).toMatchObject({
      end_line: 2,
      next_offset: 3,
    });
  });

  it("clamps the limit and ignores numbers that are not positive", async () => {
    const box = boxWith("a\n".repeat(20_000));
    expect(await resultOf(read, box, { path: PATH, limit: 99_999 })).toMatchObject({
      max_lines: 10_000,
      end_line: 10_000,
    });
    expect(await resultOf(read, box, { path: PATH, limit: -1, offset: 0 })).toMatchObject({
      max_lines: 2000,
      start_line: 1,
    });
  });

  it("says how many lines there are when the offset is behind the end", async () => {
    expect(await errorOf(read, boxWith("a\nb\n"), { path: PATH, offset: 3 })).toBe(
      'offset 3 is behind the end of "/workspace/a.txt": it has 2 lines.',
    );
  });

  it("describes a line that is too long, and gives its pieces by byte_offset", async () => {
    const box = boxWith(`head\n${"你".repeat(20_000)}\ntail\n`);
    const result = await resultOf(read, box, { path: PATH, offset: 2 });
    expect(result).toMatchObject({
      start_line: 2,
      end_line: 2,
      next_offset: 3,
      truncated_by: "bytes",
      byte_offsets: [5, 51_205],
    });
    expect(result["content"]).toMatch(
      /^\[line 2 has 60000 bytes, more than max_bytes 51200, .* byte_offset 5, 51205 /u,
    );
    const piece = await resultOf(read, box, { path: PATH, byte_offset: 5 });
    expect(piece).toMatchObject({
      encoding: "text",
      byte_offset: 5,
      length: 51_198,
      next_byte_offset: 51_203,
      has_more: true,
    });
    const rest = await resultOf(read, box, { path: PATH, byte_offset: 51_203 });
    expect(`${String(piece["content"])}${String(rest["content"])}`).toBe(`${"你".repeat(20_000)}\ntail\n`);
  });

  it("takes a byte_offset of 0 for a wish only where no line offset stands beside it", async () => {
    const box = boxWith("a\nb\n");
    expect(await resultOf(read, box, { path: PATH, byte_offset: 0 })).toMatchObject({
      content: "a\nb\n",
      length: 4,
    });
    expect(await resultOf(read, box, { path: PATH, byte_offset: 0, offset: 2 })).toMatchObject({
      content: "b",
    });
  });

  it("marks bytes that are no UTF-8 and says so", async () => {
    const box = boxWith(Buffer.from("caf\xe9\n", "latin1"));
    expect(await resultOf(read, box, { path: PATH })).toMatchObject({
      content: "caf\uFFFD",
      invalid_utf8: true,
    });
    expect(await resultOf(read, box, { path: PATH, byte_offset: 0 })).toMatchObject({ invalid_utf8: true });
  });

  it("counts lines in a bounded part of a very large file", async () => {
    const box = boxWith(Buffer.alloc(65 * 1024 * 1024, "x".repeat(1023).concat("\n")));
    const result = await resultOf(read, box, { path: PATH, limit: 1 });
    expect(result).toMatchObject({ content: "x".repeat(1023), total_lines: null, next_offset: 2 });
    expect(result["note"]).toContain("first 67108864 bytes");
    expect(await errorOf(read, box, { path: PATH, offset: 66_000 })).toMatch(
      /lies behind the first 67108864 of 68157440 bytes/,
    );
  });
});

describe("read of bytes", () => {
  it("gives a chunk as base64 and where the next one begins", async () => {
    proves("TOOL-04");
    const bytes = Uint8Array.from({ length: 1000 }, (_, i) => i % 256);
    const input = { path: PATH, encoding: "base64", byte_offset: 100, max_bytes: 300 };
    expect(await resultOf(read, boxWith(bytes), input)).toEqual({
      ok: true,
      path: PATH,
      content: Buffer.from(bytes.subarray(100, 400)).toString("base64"),
      encoding: "base64",
      byte_offset: 100,
      length: 300,
      size_bytes: 1000,
      has_more: true,
      next_byte_offset: 400,
    });
  });

  it("ends with the last chunk", async () => {
    const box = boxWith("abc");
    const last = { content: "Yw==", length: 1, has_more: false, next_byte_offset: null };
    expect(await resultOf(read, box, { path: PATH, encoding: "base64", byte_offset: 2 })).toMatchObject(last);
    expect(await errorOf(read, box, { path: PATH, encoding: "base64", byte_offset: 4 })).toMatch(
      /it has 3 bytes/,
    );
  });
});

describe("read of what is no text file", () => {
  it("says that a missing file is missing, and lists a directory", async () => {
    proves("TOOL-02");
    const box = boxWith("x", "/workspace/d/b.txt");
    box.put("/workspace/d/sub/c", "");
    box.put("/workspace/d/A", "");
    expect(await errorOf(read, box, { path: "none" })).toMatch(/"\/workspace\/none" does not exist/);
    expect(await resultOf(read, box, { path: "d" })).toEqual({
      ok: true,
      path: "/workspace/d",
      is_directory: true,
      entries: ["A", "b.txt", "sub/"],
      total: 3,
      truncated: false,
      truncated_by: null,
    });
  });

  it("shows 10,000 entries of a directory and counts all", async () => {
    const box = new FakeToolBox();
    for (let i = 0; i < 10_050; i += 1) box.put(`/workspace/d/${String(i).padStart(5, "0")}`, "");
    const result = await resultOf(read, box, { path: "d" });
    expect(result).toMatchObject({ total: 10_050, truncated: true, truncated_by: "entries" });
    expect(result["entries"]).toHaveLength(10_000);
  });

  it("refuses a PDF with type, size and a way to its text, and gives no bytes", async () => {
    const box = boxWith(aPdf(1_600_000), "/workspace/report.pdf");
    const error = await errorOf(read, box, { path: "report.pdf" });
    expect(error).toMatch(
      /^"\/workspace\/report\.pdf" is no text: application\/pdf, 1600000 bytes\. .*pdftotext/,
    );
    expect(error).not.toContain("stream data");
    expect(error.length).toBeLessThan(300);
  });

  it("refuses binary pieces as text too", async () => {
    const box = boxWith(Buffer.concat([Buffer.from("x".repeat(50)), Buffer.alloc(50)]));
    expect(await errorOf(read, box, { path: PATH, byte_offset: 10 })).toMatch(/binary data, 100 bytes/);
  });

  it("says that a device or socket is no file", async () => {
    const box = boxWith("x");
    box.faults.set(PATH, "not_regular");
    expect(await errorOf(read, box, { path: PATH })).toMatch(/is not a regular file/);
  });

  it.each([
    ["/etc/passwd", /escapes/],
    ["../etc", /escapes/],
    ["", /not a usable path/],
  ])("refuses the path %j without asking the box", async (path, reason) => {
    const box = new FakeToolBox();
    expect(await errorOf(read, box, { path })).toMatch(reason);
    expect(box.requests).toEqual([]);
  });

  it.each([
    ["symlink_component", /escapes/],
    ["unreadable", /cannot be read/],
    ["changed", /was changed/],
  ] as const)("tells the fault %s", async (fault, reason) => {
    const box = boxWith("x");
    box.faults.set(PATH, fault);
    expect(await errorOf(read, box, { path: PATH })).toMatch(reason);
  });

  it("says that a link escapes", async () => {
    const box = boxWith("x");
    box.links.add(PATH);
    expect(await errorOf(read, box, { path: PATH })).toMatch(/escapes: a part of it is a symbolic link/);
  });

  it("passes the loss of the engine on", async () => {
    const box = boxWith("x");
    box.isLost = true;
    await expect(resultOf(read, box, { path: PATH })).rejects.toMatchObject({
      code: "box.engine_unavailable",
    });
  });
});
