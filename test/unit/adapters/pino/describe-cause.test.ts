import { describe, expect, it } from "vitest";
import { describeCause } from "../../../../src/adapters/pino/describe-cause.js";
import { ServiceError } from "../../../../src/domain/errors.js";
import { SecretMask } from "../../../../src/lib/secret-mask.js";

describe("describeCause", () => {
  it("gives name, code, message and the chain of causes", () => {
    const socket = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
    const error = new ServiceError("box.engine_unavailable", "The engine did not answer.", { cause: socket });
    expect(describeCause(error, new SecretMask([]))).toMatchObject({
      name: "ServiceError",
      code: "box.engine_unavailable",
      message: "The engine did not answer.",
      causes: [{ name: "Error", code: "ECONNREFUSED", message: "connect ECONNREFUSED" }],
    });
  });

  it("shows where an error of somebody else arose, and no stack of our own", () => {
    expect(describeCause(new ServiceError("internal", "x"), new SecretMask([])).stack).toBeUndefined();
    const [frame] = describeCause(new TypeError("x"), new SecretMask([])).stack ?? [];
    expect(frame).toMatch(/^at .*describe-cause\.test\.ts/);
    const bare = new Error("x");
    delete bare.stack;
    expect(describeCause(bare, new SecretMask([])).stack).toEqual([]);
  });

  it("takes nothing else that hangs on an error", () => {
    const error = Object.assign(new Error("refused"), {
      request: { headers: { authorization: "Bearer x" } },
      code: 7,
    });
    expect(Object.keys(describeCause(error, new SecretMask([])))).toEqual([
      "name",
      "code",
      "message",
      "stack",
    ]);
    expect(describeCause(error, new SecretMask([])).code).toBeUndefined();
  });

  it("keeps every member of an aggregate", () => {
    const error = new AggregateError([new Error("one"), new Error("two")], "both");
    expect(describeCause(error, new SecretMask([]))).toMatchObject({
      causes: [{ message: "one" }, { message: "two" }],
    });
  });

  it("ends a chain of causes that goes in a circle", () => {
    const error = new Error("circle");
    error.cause = error;
    expect(JSON.stringify(describeCause(error, new SecretMask([]))).match(/circle/g)?.length).toBeLessThan(
      20,
    );
  });

  it.each([
    ["text with sk-12345678", { name: "string", message: "text with [redacted]" }],
    [42, { name: "number", message: "42" }],
    [{ password: "x" }, { name: "object", message: "" }],
    [null, { name: "object", message: "" }],
  ])("says of a thrown value that is no error what it safely can: %j", (thrown, line) => {
    expect(describeCause(thrown, new SecretMask(["sk-12345678"]))).toEqual(line);
  });

  it("scrubs messages and frames", () => {
    const error = new Error("key sk-12345678 refused");
    error.stack = "Error: key sk-12345678 refused\n    at call (https://host/x.js?token=abc)";
    expect(describeCause(error, new SecretMask(["sk-12345678"]))).toMatchObject({
      message: "key [redacted] refused",
      stack: ["at call (https://host/x.js?[redacted])"],
    });
  });
});
