import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { attachmentHeader } from "../../../src/http/content-disposition.js";

describe("attachmentHeader", () => {
  it.each([
    ["a.txt", `attachment; filename="a.txt"; filename*=UTF-8''a.txt`],
    ["报告 é.csv", `attachment; filename="__ _.csv"; filename*=UTF-8''%E6%8A%A5%E5%91%8A%20%C3%A9.csv`],
    ["a'b(c)*.txt", `attachment; filename="a_b(c)_.txt"; filename*=UTF-8''a%27b%28c%29%2A.txt`],
    ['a"b.txt', `attachment; filename="a_b.txt"; filename*=UTF-8''a%22b.txt`],
    ["../../etc/passwd", `attachment; filename="passwd"; filename*=UTF-8''passwd`],
    ["C:\\x.txt", `attachment; filename="x.txt"; filename*=UTF-8''x.txt`],
    ["a\u202efdp.exe", `attachment; filename="afdp.exe"; filename*=UTF-8''afdp.exe`],
    [".env", `attachment; filename="_.env"; filename*=UTF-8''_.env`],
    ["..", `attachment; filename="file"; filename*=UTF-8''file`],
    ["trailing. ", `attachment; filename="trailing"; filename*=UTF-8''trailing`],
    ["", `attachment; filename="file"; filename*=UTF-8''file`],
  ])("names %j", (name, header) => {
    expect(attachmentHeader(name)).toBe(header);
  });

  it("keeps the extension of a long name", () => {
    expect(attachmentHeader(`${"n".repeat(500)}.txt`)).toMatch(/n\.txt$/);
  });

  it("is one line of printable ASCII without a path, for every name there is", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 300 }), (name) => {
        const header = attachmentHeader(name);
        expect(header).toMatch(
          /^attachment; filename="[A-Za-z0-9._ ()+,=-]+"; filename\*=UTF-8''[A-Za-z0-9.%_-]+$/,
        );
        const shown = decodeURIComponent(header.split("UTF-8''")[1] ?? "");
        expect(shown).not.toMatch(/[/\\\p{C}]|^\./u);
      }),
      { numRuns: 500 },
    );
  });

  it("survives half a surrogate pair", () => {
    expect(attachmentHeader("a\ud83d.txt")).toBe(`attachment; filename="a.txt"; filename*=UTF-8''a.txt`);
  });
});
