import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  cleanReason,
  describeRefusal,
  readRefusal,
  readUnreachable,
} from "../../../../src/adapters/docker/engine-errors.js";

describe("cleanReason", () => {
  it.each([
    [
      'OCI runtime create failed: rootfs_linux.go:76: mounting "/var/lib/docker/volumes/x" to rootfs\nat "/workspace"\tfailed',
      'OCI runtime create failed: rootfs_linux.go:76: mounting "<path>" to rootfs at "<path>" failed',
    ],
    ["dial tcp://10.0.0.1:2375/v1 failed", "dial <address> failed"],
    ["  two\r\n lines \u202e ", "two lines"],
  ])("collapses to one line without paths and addresses: %j", (text, clean) => {
    expect(cleanReason(text)).toBe(clean);
  });

  it("is one bounded line without control characters for any text (box §17.1)", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 1000, unit: "binary" }), (text) => {
        const clean = cleanReason(text);
        expect(clean.length).toBeLessThanOrEqual(200);
        expect(clean).not.toMatch(/[\p{Cc}\n]/u);
        expect(clean).not.toMatch(/\/[a-z]/u);
      }),
    );
  });
});

describe("readRefusal", () => {
  it("reads the status and the message of an answer", () => {
    const error = Object.assign(new Error("(HTTP code 409)"), {
      statusCode: 409,
      json: { message: "in use by /x" },
    });
    expect(readRefusal(error)).toEqual({ status: 409, reason: "in use by <path>" });
  });

  it("finds no answer in a broken connection, and no message in odd bodies", () => {
    expect(readRefusal(Object.assign(new Error("x"), { code: "ECONNREFUSED" }))).toBeNull();
    expect(readRefusal({ statusCode: 500, json: Buffer.from("text") })).toEqual({
      status: 500,
      reason: "status 500",
    });
  });
});

describe("the errors of the engine", () => {
  it.each([
    [404, "box.not_found"],
    [409, "box.conflict"],
    [500, "box.readiness"],
    [400, "box.readiness"],
  ])("has a code for status %i", (status, code) => {
    const error = describeRefusal("start the container", { status, reason: "it broke." });
    expect(error).toMatchObject({ code, message: "The engine could not start the container: it broke." });
  });

  it("says that a call ran out of time, with the limit", () => {
    const error = readUnreachable({ operation: "answer", limitMs: 5000 }, true, new Error("aborted"));
    expect(error).toMatchObject({
      code: "box.engine_unavailable",
      message: "The engine did not answer within 5 s.",
      retryable: true,
    });
    expect(error.hint).toContain("switch the box off");
  });

  it.each([
    [Object.assign(new Error("connect ENOENT /var/run/docker.sock"), { code: "ENOENT" }), "ENOENT"],
    [new Error("socket hang up at /var/run/docker.sock"), "the connection failed"],
  ])("says why the engine cannot be reached, without a path", (cause, why) => {
    const error = readUnreachable({ operation: "list the containers", limitMs: 5000 }, false, cause);
    expect(error.message).toBe(`The engine could not be reached to list the containers: ${why}.`);
  });
});
