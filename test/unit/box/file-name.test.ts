import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { deliveredName, displayName, inboundName, uniqueName } from "../../../src/box/file-name.js";

const anyText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 400 }),
  fc.string({
    unit: fc.constantFrom(".", "/", "\\", " ", "$", "é", "🎉", "a", "\n", "\u202e", "\u200d"),
    maxLength: 20,
  }),
);

describe("inboundName", () => {
  it.each([
    ["../../etc/passwd", "passwd"],
    ["/a/b/c.png", "c.png"],
    ["a b c.txt", "a_b_c.txt"],
    ["..\\..\\win.ini", "win.ini"],
    ["C:\\x.txt", "x.txt"],
    [".htaccess", "htaccess"],
    ["何不同舟渡_2.txt", "何不同舟渡_2.txt"],
    ["é.csv", "é.csv"],
    ["e\u0301.csv", "e\u0301.csv"],
    ["🎉.png", "🎉.png"],
    ["👩‍👩‍👧.png", "👩‍👩‍👧.png"],
    ["a;touch PWN;$(id)`id`&|.txt", "atouch_PWNidid.txt"],
    ["a\r\nSet-Cookie: x=1.txt", "aSet-Cookie_x1.txt"],
    ["a\u202efdp.exe", "afdp.exe"],
    ["a\u2028b\u0378c.txt", "abc.txt"],
    ["$.env", "file_3.env"],
    ["", "file_3.bin"],
    ["...", "file_3.bin"],
    ["a/", "file_3.bin"],
    [null, "file_3.bin"],
  ])("turns %s into %s", (given, name) => {
    expect(inboundName(given, "file", 3)).toBe(name);
  });

  it("fills an empty name by the kind of the attachment", () => {
    expect(inboundName("", "image", 0)).toBe("image_0.png");
    expect(inboundName("$$", "voice", 1)).toBe("voice_1.wav");
  });

  it("cuts a long stem at a character and keeps the extension", () => {
    expect(inboundName(`${"n".repeat(300)}.txt`, "file", 0)).toBe(`${"n".repeat(236)}.txt`);
    expect(inboundName(`${"何".repeat(100)}.txt`, "file", 0)).toBe(`${"何".repeat(78)}.txt`);
    expect(inboundName(`a.${"n".repeat(300)}`, "file", 0)).toBe(`a.${"n".repeat(238)}`);
  });

  it("gives one harmless component for every text, and leaves a clean name as it is", () => {
    fc.assert(
      fc.property(anyText, (given) => {
        const name = inboundName(given, "file", 0);
        expect(Buffer.byteLength(name)).toBeLessThanOrEqual(240);
        expect(name).toMatch(/^[^./\\\p{Cc}\p{Zl}\p{Zp}\p{Cs}][^/\\\p{Cc}\p{Zl}\p{Zp}\p{Cs}]*$/u);
        expect(name.replace(/[\u0080-\u{10FFFF}]/gu, "")).toMatch(/^[A-Za-z0-9._-]*$/);
        expect(inboundName(name, "file", 0)).toBe(name);
      }),
    );
  });
});

describe("displayName", () => {
  it("tells the original name on one line, or a made-up one", () => {
    expect(displayName("dir/a b c.txt", "file", 0)).toBe("a b c.txt");
    expect(displayName("a\nb\u202e.txt", "file", 0)).toBe("ab.txt");
    expect(displayName("..", "image", 2)).toBe("image_2.png");
    expect(displayName(null, "voice", 1)).toBe("voice_1.wav");
  });
});

describe("deliveredName", () => {
  it.each([
    ["/workspace/outbox/run_1/chart.png", "chart.png"],
    ["/w/报告 é.txt", "报告 é.txt"],
    ["/w/-rf", "-rf"],
    ["/w/.env", ".env"],
    ["/w/a\r\nSet-Cookie: x=1.txt", "aSet-Cookie: x=1.txt"],
    ["/w/\u001b[2Jx.txt", "[2Jx.txt"],
    ["/w/a\u200b\ufeff.txt", "a.txt"],
    ["/w/..\\..\\win.ini", ".._.._win.ini"],
    ["/w/\u202e", "file"],
    ["/w/ . ", "file"],
  ])("delivers %s as %s", (path, name) => {
    expect(deliveredName(path)).toBe(name);
  });

  it("is one line without a path for every file name", () => {
    fc.assert(
      fc.property(anyText, (name) => {
        const delivered = deliveredName(`/workspace/${name}`);
        expect(delivered).toMatch(/^[^/\\\p{Cc}\p{Zl}\p{Zp}\p{Cs}]+$/u);
        expect(["", ".", ".."]).not.toContain(delivered);
      }),
    );
  });
});

describe("uniqueName", () => {
  it("numbers equal names before the extension", () => {
    expect(uniqueName("a.txt", new Set())).toBe("a.txt");
    expect(uniqueName("a.txt", new Set(["a.txt"]))).toBe("a (2).txt");
    expect(uniqueName("a.txt", new Set(["a.txt", "a (2).txt"]))).toBe("a (3).txt");
    expect(uniqueName("Makefile", new Set(["Makefile"]))).toBe("Makefile (2)");
    expect(uniqueName(".env", new Set([".env"]))).toBe(".env (2)");
  });

  it("keeps all names different, however many there are", () => {
    const name = fc.constantFrom("a.txt", "a (2).txt", "b", ".env");
    fc.assert(
      fc.property(fc.array(name, { maxLength: 12 }), (names) => {
        const taken = new Set<string>();
        for (const next of names) taken.add(uniqueName(next, taken));
        expect(taken.size).toBe(names.length);
      }),
    );
  });
});
