import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { HttpGrantSource } from "../../../../src/adapters/control-plane/http-grant-source.js";
import { ControlPlane } from "../../../support/control-plane.js";
import { textLike } from "../../../support/text-like.js";

const NAME = { tenant: "main", grantId: "main" };
const ENDLESS = { signal: new AbortController().signal };

describe("HttpGrantSource", () => {
  let plane: ControlPlane;
  beforeEach(async () => {
    plane = await ControlPlane.start();
  });
  afterEach(async () => plane[Symbol.asyncDispose]());

  it("asks for one grant of one tenant, with the token", async () => {
    plane.grant({ more: "is left alone" });
    const source = new HttpGrantSource({ url: `${plane.url}/`, token: "t" });
    expect(await source.ask(NAME, ENDLESS)).toMatchObject({ grant_id: "main", revision: 1, revoked: false });
    await source.ask({ tenant: "a b", grantId: "x/../y" }, ENDLESS);
    expect(plane.asked).toEqual([
      "GET /grants/main?tenant=main Bearer t",
      "GET /grants/x%2F..%2Fy?tenant=a+b Bearer t",
    ]);
  });

  it.each([
    { what: "a status", answer: 404, says: "it answered 404" },
    { what: "no JSON", answer: "<html>", says: "no JSON" },
    { what: "another form", answer: { grant_id: "main", revision: -1 }, says: "tenant, revision" },
    { what: "a flood", answer: "x".repeat(70_000), says: "longer than" },
  ])("fails for $what", async ({ answer, says }) => {
    plane.answer = answer;
    await expect(
      new HttpGrantSource({ url: plane.url, token: null }).ask(NAME, ENDLESS),
    ).rejects.toMatchObject({
      code: "outbound.failed",
      message: textLike(new RegExp(says)),
    });
    expect(plane.asked[0]?.endsWith("main ")).toBe(true);
  });

  it("fails where nobody answers", async () => {
    const source = new HttpGrantSource({ url: "http://127.0.0.1:9/grants", token: null });
    await expect(source.ask(NAME, ENDLESS)).rejects.toMatchObject({ code: "outbound.failed" });
  });
});
