import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ERROR_CODES, openAiErrorType, ServiceError, toServiceError } from "../../../src/domain/errors.js";

describe("ERROR_CODES", () => {
  it.each(Object.keys(ERROR_CODES))(
    "spells %s as area.problem, but for two words of the protocol",
    (code) => {
      expect(code).toMatch(/^([a-z]+\.[a-z_]+|cancelled|internal)$/);
    },
  );

  it.each(Object.entries(ERROR_CODES))("gives %s an error status", (_code, { status }) => {
    expect(status).toBeGreaterThanOrEqual(400);
    expect(status).toBeLessThan(600);
  });
});

describe("ServiceError", () => {
  it("takes status and retry from the table of codes", () => {
    const error = new ServiceError("box.capacity", "All 64 boxes are in use.");
    expect(error).toMatchObject({ name: "ServiceError", code: "box.capacity", status: 429, retryable: true });
    expect(error).toMatchObject({ hint: undefined, param: undefined, details: {} });
    expect(error.message).toBe("All 64 boxes are in use.");
  });

  it("lets the occurrence know better whether a retry makes sense", () => {
    expect(new ServiceError("box.capacity", "x", { retryable: false }).retryable).toBe(false);
    expect(new ServiceError("request.invalid", "x", { retryable: true }).retryable).toBe(true);
  });

  it("carries the next step, the field, the facts and the cause", () => {
    const cause = new Error("socket");
    const error = new ServiceError("request.invalid", "x", {
      hint: "Do y.",
      param: "chat.launcher_id",
      details: { limit: 3 },
      cause,
    });
    expect(error).toMatchObject({ hint: "Do y.", param: "chat.launcher_id", details: { limit: 3 }, cause });
  });

  it("has no cause at all where none was given, so that logs show none", () => {
    expect(Object.hasOwn(new ServiceError("internal", "x"), "cause")).toBe(false);
  });
});

describe("toServiceError", () => {
  it("gives our own errors back as they are", () => {
    const error = new ServiceError("run.not_found", "x");
    expect(toServiceError(error)).toBe(error);
  });

  it.each([new Error("/etc/secret is missing"), "text", null, undefined, { code: "run.not_found" }])(
    "keeps the text of anything else out of sight: %s",
    (thrown) => {
      const error = toServiceError(thrown);
      expect(error).toMatchObject({ code: "internal", status: 500, retryable: false });
      expect(error.message).toBe("The service failed in an unexpected way.");
      expect(error.cause).toBe(thrown);
    },
  );
});

describe("openAiErrorType", () => {
  it.each([
    [400, "invalid_request_error"],
    [401, "authentication_error"],
    [403, "authentication_error"],
    [404, "not_found_error"],
    [409, "conflict_error"],
    [413, "invalid_request_error"],
    [429, "rate_limit_error"],
    [499, "invalid_request_error"],
    [500, "server_error"],
    [503, "server_error"],
  ])("calls %d a %s", (status, type) => {
    expect(openAiErrorType(status)).toBe(type);
  });

  it("calls every status from 500 on the server's fault", () => {
    fc.assert(
      fc.property(fc.integer({ min: 500, max: 599 }), (status) => {
        expect(openAiErrorType(status)).toBe("server_error");
      }),
    );
  });
});
