import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findGrantFault, type Grant, type GrantAnswer, judgeGrant } from "../../../src/domain/grant.js";

const NOW = 1_000_000;
const asked = { tenant: "main", grantId: "g-1" };
const aGrant = (change: Partial<Grant> = {}): Grant => ({
  ...asked,
  revision: 3,
  expiresAt: NOW + 60_000,
  boxes: 2,
  revoked: false,
  ...change,
});
const anAnswer = (change: Partial<GrantAnswer> = {}, inMs = 120_000): GrantAnswer => ({
  grant_id: "g-1",
  tenant: "main",
  revision: 3,
  expires_at: new Date(NOW + inMs).toISOString(),
  boxes: 2,
  revoked: false,
  ...change,
});

describe("judgeGrant", () => {
  it.each([
    { what: "a first answer", known: null, answer: anAnswer(), taken: { expiresAt: NOW + 120_000 } },
    { what: "a renewal", known: aGrant(), answer: anAnswer(), taken: { expiresAt: NOW + 120_000 } },
    {
      what: "an earlier end",
      known: aGrant(),
      answer: anAnswer({}, 10_000),
      taken: { expiresAt: NOW + 60_000 },
    },
    { what: "300 s", known: null, answer: anAnswer({}, 300_000), taken: { expiresAt: NOW + 300_000 } },
    {
      what: "a revocation",
      known: aGrant(),
      answer: anAnswer({ revoked: true }, 900_000),
      taken: { expiresAt: NOW, revoked: true },
    },
    {
      what: "the next revision after a revocation",
      known: aGrant({ revoked: true }),
      answer: anAnswer({ revision: 4, boxes: 5 }),
      taken: { revision: 4, boxes: 5, revoked: false },
    },
  ])("takes $what", ({ known, answer, taken }) => {
    expect(judgeGrant({ known, asked }, answer, NOW)).toMatchObject({ kind: "taken", grant: taken });
  });

  it.each([
    { known: null, answer: anAnswer({ grant_id: "g-2" }), reason: "another grant" },
    { known: null, answer: anAnswer({ tenant: "other" }), reason: "another tenant" },
    { known: null, answer: anAnswer({}, 300_001), reason: "at most 300 s" },
    { known: aGrant(), answer: anAnswer({ revision: 2 }), reason: "revision 3 was seen" },
    { known: aGrant(), answer: anAnswer({ revision: 2, revoked: true }), reason: "revision 3 was seen" },
    { known: aGrant({ revoked: true }), answer: anAnswer(), reason: "Revision 3 is revoked" },
    { known: aGrant(), answer: anAnswer({ boxes: 3 }), reason: "said 2 boxes before, and says 3" },
    { known: aGrant(), answer: anAnswer({ grant_id: "g-2", revoked: true }), reason: "another grant" },
  ])("refuses an answer: $reason", ({ known, answer, reason }) => {
    const verdict = judgeGrant({ known, asked }, answer, NOW);
    expect(verdict).toMatchObject({ kind: "refused" });
    expect(JSON.stringify(verdict)).toContain(reason);
  });

  it("lets no sequence of answers bring back an older or a revoked revision", () => {
    const answers = fc.array(
      fc.record({
        revision: fc.integer({ min: 1, max: 5 }),
        revoked: fc.boolean(),
        boxes: fc.integer({ min: 0, max: 2 }),
        tenant: fc.constantFrom("main", "other"),
        inMs: fc.integer({ min: -1000, max: 400_000 }),
      }),
      { maxLength: 30 },
    );
    fc.assert(
      fc.property(answers, (given) => {
        let known: Grant | null = null;
        const revoked = new Set<number>();
        for (const { inMs, ...change } of given) {
          const before: Grant | null = known;
          const verdict = judgeGrant({ known, asked }, anAnswer(change, inMs), NOW);
          if (verdict.kind === "refused") continue;
          known = verdict.grant;
          expect(known.tenant).toBe("main");
          expect(known.revision).toBeGreaterThanOrEqual(before?.revision ?? 1);
          if (known.revoked) revoked.add(known.revision);
          expect(revoked.has(known.revision)).toBe(known.revoked);
          expect(known.expiresAt).toBeLessThanOrEqual(NOW + 300_000);
        }
      }),
    );
  });
});

describe("findGrantFault", () => {
  it.each([
    { grant: null, fault: "no grant" },
    { grant: aGrant({ revoked: true }), fault: "revoked" },
    { grant: aGrant({ expiresAt: NOW }), fault: "expired" },
    { grant: aGrant({ boxes: 0 }), fault: "0 boxes" },
  ])("says: $fault", ({ grant, fault }) => {
    expect(findGrantFault(grant, NOW)).toContain(fault);
  });

  it("finds none in a grant that goes on", () => {
    expect(findGrantFault(aGrant({ expiresAt: NOW + 1 }), NOW)).toBeNull();
  });
});
