import { describe, expect, it } from "vitest";
import { ServiceError } from "../../../src/domain/errors.js";
import { toHostError } from "../../../src/domain/host-error.js";

describe("toHostError", () => {
  it.each([
    ["host.unauthorized", "unauthorized"],
    ["host.not_found", "not_found"],
    ["host.deadline_exceeded", "deadline_exceeded"],
    ["model.timeout", "deadline_exceeded"],
    ["box.too_large", "payload_too_large"],
    ["box.capacity", "rate_limited"],
    ["model.rate_limited", "rate_limited"],
    ["host.invalid_argument", "invalid_argument"],
    ["box.conflict", "runtime_error"],
    ["internal", "runtime_error"],
  ] as const)("tells %s as %s, with the finer code beside it", (code, told) => {
    expect(toHostError(new ServiceError(code, "Not now."))).toMatchObject({
      code: told,
      message: "Not now.",
      details: { code },
    });
  });

  it("keeps whether a retry makes sense, the details and the hint", () => {
    const error = new ServiceError("model.unavailable", "No answer.", {
      hint: "Wait.",
      details: { status: 503 },
    });
    expect(toHostError(error)).toEqual({
      code: "runtime_error",
      message: "No answer.",
      retryable: true,
      details: { code: "model.unavailable", status: 503, hint: "Wait." },
    });
  });

  it("says nothing of what is not the service's own", () => {
    expect(toHostError(new Error("/etc/passwd"))).toEqual({
      code: "runtime_error",
      message: "The service failed in an unexpected way.",
      retryable: false,
      details: { code: "internal" },
    });
  });
});
