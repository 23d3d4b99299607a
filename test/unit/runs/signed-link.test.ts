import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LINK_TTL, signLink, verifyLink } from "../../../src/runs/signed-link.js";

const SECRET = "secret";
const GRANT = { tenant: "main", fileId: "file_1", expiresAt: 1000 } as const;

describe("verifyLink", () => {
  it("gives back what was granted, until the second it expires", () => {
    const token = signLink(SECRET, GRANT);
    expect(verifyLink(SECRET, { fileId: "file_1", token }, 999_999)).toEqual(GRANT);
    expect(verifyLink(SECRET, { fileId: "file_1", token }, 1_000_000)).toBeNull();
  });

  it("refuses the token of another file", () => {
    expect(verifyLink(SECRET, { fileId: "file_2", token: signLink(SECRET, GRANT) }, 0)).toBeNull();
  });

  it("refuses a token that was signed with another secret", () => {
    expect(verifyLink(SECRET, { fileId: "file_1", token: signLink("other", GRANT) }, 0)).toBeNull();
  });

  it("refuses a longer life or another tenant under an old signature", () => {
    const [, signature] = signLink(SECRET, GRANT).split(".");
    const claim = Buffer.from(JSON.stringify({ t: "other", e: 9_999_999 })).toString("base64url");
    expect(verifyLink(SECRET, { fileId: "file_1", token: `${claim}.${signature}` }, 0)).toBeNull();
  });

  it.each(["", ".", "a", "a.b", "a.b.c", "....", "%00.%00"])("refuses the text %j", (token) => {
    expect(verifyLink(SECRET, { fileId: "file_1", token }, 0)).toBeNull();
  });

  it("refuses every token that differs in one character", () => {
    const token = signLink(SECRET, GRANT);
    fc.assert(
      fc.property(fc.nat(token.length - 2), fc.constantFrom("A", "b", "9", "_"), (at, character) => {
        fc.pre(token[at] !== character);
        const forged = `${token.slice(0, at)}${character}${token.slice(at + 1)}`;
        expect(verifyLink(SECRET, { fileId: "file_1", token: forged }, 0)).toBeNull();
      }),
    );
  });

  it("allows an hour by default and a week at most", () => {
    expect(LINK_TTL).toEqual({ default: 3600, max: 604_800 });
  });
});
