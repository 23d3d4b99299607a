import { describe, expect, it } from "vitest";
import { findHeaderFault } from "../../../src/http/refuse-odd-requests.js";

describe("findHeaderFault", () => {
  it("takes ordinary headers, and such that may stand twice", () => {
    expect(
      findHeaderFault(["Host", "a", "Accept", "x", "accept", "y", "Transfer-Encoding", "chunked"]),
    ).toBeNull();
    expect(findHeaderFault(["host", ""])).toBeNull();
  });

  it.each([
    [["Transfer-Encoding", "xchunked"]],
    [["transfer-encoding", "gzip, chunked"]],
    [["Transfer-Encoding", "chunked", "Transfer-Encoding", "chunked"]],
    [[]],
    [["Host", "a", "hOsT", "b"]],
    [["Host", "a", "Authorization", "Bearer a", "authorization", "Bearer b"]],
    [["Host", "a", "Content-Type", "application/json", "Content-Type", "text/plain"]],
  ])("refuses %j", (headers) => {
    expect(findHeaderFault(headers)).toMatch(/transfer encoding|more than once|missing/);
  });
});
